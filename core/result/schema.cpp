#include "core/result/schema.hpp"

// With sanitizers, g++ 12 warns that valijson's std::regex is uninitialised (GCC bug 105562). No
// schema has a "pattern", because std::regex recurses for each letter.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/quick_schema.hpp"

// valijson decides whether a document is valid, unless the quick check has accepted it. The code
// after its call only explains the verdict, by asking valijson about single keywords of the
// schema's node that applies to the place.

namespace assay {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

struct Schema {
  json text;
  valijson::Schema compiled;
  std::optional<QuickSchema> quick{};
};

/// valijson judges a value that the quick check refuses.
bool is_valid(const json& value, const Schema& schema) {
  if (schema.quick && schema.quick->accepts(value)) return true;
  valijson::Validator validator;
  return validator.validate(schema.compiled, NlohmannJsonAdapter(value), nullptr);
}

void compile(const json& text, valijson::Schema& into) {
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(NlohmannJsonAdapter(text), into);
}

/// Makes a schema accept fields that it does not name.
void open_objects(json& schema) {
  if (schema.is_object() && schema.value("additionalProperties", json()) == false)
    schema.erase("additionalProperties");
  for (json& part : schema)
    if (part.is_structured()) open_objects(part);
}

const json::json_pointer name_in_schema("/properties/schema/const");

/// The schema of the whole document, or of one of its definitions. `new_fields`: for documents of
/// later minor versions.
const Schema& schema_named(const std::string& name, const std::string& definition,
                           bool new_fields) {
  static std::mutex guard;
  static std::map<std::tuple<std::string, std::string, bool>, Schema> known;
  const std::lock_guard lock(guard);
  const std::tuple key{name, definition, new_fields};
  const auto entry = known.find(key);
  if (entry != known.end()) return entry->second;
  const std::filesystem::path file = data_folder("results-schema") / (name + ".schema.json");
  Schema& added = known[key];
  try {
    added.text = read_json(file);
    if (new_fields) {
      open_objects(added.text);
      added.text.at(name_in_schema.parent_pointer()) = {{"type", "string"}};
    }
    if (!definition.empty())
      added.text = {{"$schema", added.text.at("$schema")},
                    {"$ref", "#/definitions/" + definition},
                    {"definitions", added.text.at("definitions")}};
    compile(added.text, added.compiled);
    added.quick = QuickSchema::compile(added.text);
  } catch (const InputError&) {
    known.erase(key);
    throw;
  } catch (const std::exception& error) {
    known.erase(key);
    throw InputError(
        fmt::format("{} is not a usable JSON Schema ({}). Restore it from the sources.",
                    file.string(), error.what()));
  }
  return added;
}

/// A node of the schema that applies to a place in the document and, if it applies under a
/// condition, why.
struct Rule {
  const json* node;
  std::string why;
};

class Explainer {
 public:
  Explainer(const json& schema, const json& document) : schema_(schema), document_(document) {}

  /// Adds the faults at the place that valijson names ("<root>", "[rows]", "[3]", …): pairs of
  /// pointer and words.
  void explain(const std::vector<std::string>& context, std::vector<std::string>& words) const {
    const json* value = &document_;
    std::string pointer;
    std::vector<Rule> rules;
    apply(schema_, *value, "", rules);
    for (std::size_t i = 1; i < context.size(); ++i) {
      const std::string key = context[i].substr(1, context[i].size() - 2);
      const json* inner = child(*value, key);
      if (inner == nullptr) break;
      std::vector<Rule> inner_rules;
      for (const Rule& rule : rules) descend(rule, *value, key, *inner, inner_rules);
      pointer += "/" + escaped(key);
      value = inner;
      rules = std::move(inner_rules);
    }
    for (const Rule& rule : rules) judge(rule, *value, pointer, words);
  }

 private:
  static std::string escaped(std::string key) {
    for (std::size_t at = 0; (at = key.find_first_of("~/", at)) != std::string::npos; at += 2)
      key.replace(at, 1, key[at] == '~' ? "~0" : "~1");
    return key;
  }

  static const json* child(const json& value, const std::string& key) {
    if (value.is_object()) {
      const auto entry = value.find(key);
      return entry == value.end() ? nullptr : &*entry;
    }
    const auto index = parse_number<std::size_t>(key);
    return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
  }

  bool holds(json mini, const json& value) const {
    if (schema_.contains("definitions")) mini["definitions"] = schema_["definitions"];
    valijson::Schema compiled;
    compile(mini, compiled);
    valijson::Validator validator;
    return validator.validate(compiled, NlohmannJsonAdapter(value), nullptr);
  }

  /// All nodes that apply to `value` through `node`: itself, its reference, and the applicable
  /// branch of its condition.
  void apply(const json& node, const json& value, const std::string& why,
             std::vector<Rule>& rules) const {
    if (!node.is_object()) return;
    if (node.contains("$ref")) {
      apply(schema_.at(json::json_pointer(node["$ref"].get<std::string>().substr(1))), value, why,
            rules);
      return;
    }
    rules.push_back({&node, why});
    if (node.contains("allOf"))
      for (const json& part : node["allOf"]) apply(part, value, why, rules);
    if (!node.contains("if")) return;
    const json& condition = node["if"];
    if (condition.contains("required") && !value.is_object()) return;
    const char* branch = holds(condition, value) ? "then" : "else";
    if (!node.contains(branch)) return;
    const json* target = &node[branch];
    if (target->contains("$ref"))
      target = &schema_.at(json::json_pointer((*target)["$ref"].get<std::string>().substr(1)));
    apply(*target, value, target->value("description", why), rules);
  }

  void descend(const Rule& rule, const json& value, const std::string& key, const json& inner,
               std::vector<Rule>& rules) const {
    const json& node = *rule.node;
    if (value.is_object()) {
      if (node.contains("properties") && node["properties"].contains(key))
        apply(node["properties"][key], inner, rule.why, rules);
      else if (node.contains("additionalProperties"))
        apply(node["additionalProperties"], inner, rule.why, rules);
    } else if (node.contains("items")) {
      apply(node["items"], inner, rule.why, rules);
    }
  }

  static std::string describe_value(const json& value) {
    if (value.is_object()) return value.empty() ? "an empty object" : "an object";
    if (value.is_array()) return fmt::format("a list of {}", value.size());
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "…";
    return text;
  }

  static std::string type_words(const json& types) {
    static const std::map<std::string, std::string> words{
        {"object", "an object"}, {"array", "a list"},       {"string", "a text"},
        {"number", "a number"},  {"integer", "an integer"}, {"boolean", "true or false"},
        {"null", "null"}};
    std::vector<std::string> all;
    for (const json& type : types.is_array() ? types : json::array({types}))
      all.push_back(words.at(type.get<std::string>()));
    return join(all, " or ");
  }

  /// The keywords of one node that `value` violates.
  void judge(const Rule& rule, const json& value, const std::string& pointer,
             std::vector<std::string>& words) const {
    const json& node = *rule.node;
    const std::string because = rule.why.empty() ? "" : " (" + rule.why + ")";
    const auto fails = [&](const char* keyword) {
      return node.contains(keyword) && !holds({{keyword, node[keyword]}}, value);
    };
    const auto say = [&](const std::string& at, const std::string& what) {
      words.push_back(fmt::format("{}: {}", at.empty() ? "at the top" : "at " + at, what));
    };
    if (fails("type")) {
      say(pointer, fmt::format("found {}, expected {}{}.", describe_value(value),
                               type_words(node["type"]), because));
      return;
    }
    if (fails("const"))
      say(pointer, fmt::format("found {}, expected {}{}.", describe_value(value),
                               describe_value(node["const"]), because));
    if (fails("enum")) {
      std::vector<std::string> valid;
      for (const json& choice : node["enum"])
        valid.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
      const std::string near =
          value.is_string() ? find_nearest(value.get<std::string>(), valid) : "";
      say(pointer,
          fmt::format("found {}, expected one of {}.{}", describe_value(value), join(valid, ", "),
                      near.empty() ? "" : " Did you mean '" + near + "'?"));
    }
    if (fails("required"))
      for (const json& key : node["required"])
        if (!value.contains(key.get<std::string>()))
          say(pointer, fmt::format("found no \"{0}\", expected it{1}. Add \"{0}\".",
                                   key.get<std::string>(), because));
    if (value.is_object() && node.contains("additionalProperties") &&
        node["additionalProperties"] == false) {
      std::vector<std::string> valid;
      const json known = node.value("properties", json::object());
      for (const auto& [key, unused] : known.items()) valid.push_back(key);
      for (const auto& [key, unused] : value.items())
        if (std::find(valid.begin(), valid.end(), key) == valid.end())
          say(pointer + "/" + escaped(key),
              "found an " + explain_unknown_name("field", key, valid));
    }
    struct Limit {
      const char* keyword;
      const char* text;
    };
    for (const Limit& limit :
         {Limit{"minimum", "at least {}"}, Limit{"maximum", "at most {}"},
          Limit{"exclusiveMinimum", "more than {}"}, Limit{"exclusiveMaximum", "less than {}"},
          Limit{"minLength", "a text of at least {} characters"},
          Limit{"minItems", "a list of at least {}"}, Limit{"maxItems", "a list of at most {}"},
          Limit{"minProperties", "at least {} fields"},
          Limit{"maxProperties", "at most {} fields"}})
      if (fails(limit.keyword))
        say(pointer, fmt::format("found {}, expected {}{}.", describe_value(value),
                                 fmt::format(fmt::runtime(limit.text), node[limit.keyword].dump()),
                                 because));
  }

  const json& schema_;
  const json& document_;
};

/// A document of a later version is only too new; its other violations are not reported.
std::string too_new(const json& document, const json& schema) {
  if (!schema.contains(name_in_schema) || !document.is_object() || !document.contains("schema") ||
      !document["schema"].is_string())
    return "";
  const std::string mine = schema[name_in_schema], its = document["schema"];
  const std::size_t slash = mine.find('/') + 1;
  if (its.compare(0, slash, mine, 0, slash) != 0) return "";
  if (schema_version(its) <= schema_version(mine)) return "";
  return fmt::format(
      " at /schema: found \"{}\", expected \"{}\" (written by a newer version of Assay). Update "
      "Assay to read it.",
      its, mine);
}

}  // namespace

SchemaVersion schema_version(const std::string& name) {
  const std::string version = name.substr(name.find('/') + 1);
  const std::size_t dot = version.find('.');
  const auto major = parse_number<unsigned long>(std::string_view(version).substr(0, dot));
  if (dot == std::string::npos) return {major.value_or(0), 0};
  const auto minor = parse_number<unsigned long>(std::string_view(version).substr(dot + 1));
  return major && minor ? SchemaVersion{*major, *minor} : SchemaVersion{0, 0};
}

bool may_have_new_fields(const json& document, const std::string& schema_name) {
  // Other files instruct a command, which must not ignore an unknown field.
  if (schema_name != "result" || !document.is_object()) return false;
  const auto its = document.find("schema");
  if (its == document.end() || !its->is_string()) return false;
  const std::string mine = schema_named(schema_name, "", false).text.at(name_in_schema);
  const std::string& name = its->get_ref<const std::string&>();
  if (!name.starts_with(mine.substr(0, mine.find('/') + 1))) return false;
  const SchemaVersion version = schema_version(name), known = schema_version(mine);
  return version.first == known.first && version.second > known.second;
}

bool satisfies(const json& value, const std::string& schema_name, const std::string& definition,
               bool new_fields) {
  return is_valid(value, schema_named(schema_name, definition, new_fields));
}

std::vector<std::string> find_schema_errors(const json& document, const std::string& schema_name,
                                            const std::string& shown_as) {
  const Schema& schema = schema_named(schema_name, "", may_have_new_fields(document, schema_name));
  if (is_valid(document, schema)) return {};
  if (const std::string newer = too_new(document, schema.text); !newer.empty())
    return {shown_as + newer};

  valijson::Validator validator;
  valijson::ValidationResults results;
  validator.validate(schema.compiled, NlohmannJsonAdapter(document), &results);
  const Explainer explainer(schema.text, document);
  std::vector<std::string> errors;
  std::set<std::vector<std::string>> places;
  std::set<std::string> said;
  for (const auto& error : results) {
    if (!places.insert(error.context).second) continue;
    std::vector<std::string> words;
    explainer.explain(error.context, words);
    for (const std::string& name : words)
      if (said.insert(name).second) errors.push_back(shown_as + " " + name);
  }
  if (errors
          .empty())  // a keyword that has no words above: valijson's own, from the innermost place
    for (const auto& error : results) {
      errors.push_back(
          fmt::format("{} at {}: {}", shown_as, fmt::join(error.context, ""), error.description));
      break;
    }
  // A wrong kind of file explains all other errors.
  const auto kind = std::find_if(errors.begin(), errors.end(), [&](const std::string& error) {
    return error.starts_with(shown_as + " at /schema: ");
  });
  if (kind != errors.end()) return {*kind};
  return errors;
}

void check_own(const json& document, const std::string& kind) {
  if (const auto errors = find_schema_errors(document, kind, "the " + kind); !errors.empty())
    throw std::runtime_error(
        errors.front() +
        " (The document violates its schema.) Please report this as a bug of Assay.");
}

json read_checked(const std::filesystem::path& file, const std::string& schema_name) {
  json document = read_json(file);
  const std::vector<std::string> errors = find_schema_errors(document, schema_name, file.string());
  if (errors.empty()) return document;
  constexpr std::size_t most = 5;
  std::vector<std::string> first(
      errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(std::min(most, errors.size())));
  if (errors.size() > most) first.push_back(fmt::format("… and {} more.", errors.size() - most));
  throw InputError(join(first, "\n"));
}

}  // namespace assay
