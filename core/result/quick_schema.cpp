#include "core/result/quick_schema.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay {

using nlohmann::json;

/// One place of the schema. A keyword that it lacks has a value that accepts everything.
struct QuickSchema::Node {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

  unsigned types = ~0U;               ///< bits of type_bit
  std::optional<json> choices;        ///< of const and enum: a list
  std::vector<std::string> required;  ///< sorted, as the members of an object are
  std::vector<std::pair<std::string, const Node*>> properties;  ///< sorted
  const Node* others = nullptr;  ///< schema of members that properties does not name
  bool closed = false;           ///< such members are refused
  const Node* items = nullptr;
  double minimum = -infinity, maximum = infinity;
  double above = -infinity, below = infinity;  ///< exclusiveMinimum, exclusiveMaximum
  std::size_t least_items = 0, most_items = most, least_members = 0, most_members = most;
  bool not_empty = false;  ///< minLength 1
  std::vector<const Node*> all_of;
  const Node *condition = nullptr, *then = nullptr, *otherwise = nullptr;
};

namespace {

unsigned type_bit(json::value_t type) { return 1U << static_cast<unsigned>(type); }

/// 0 for an unknown name of a type.
unsigned type_bits(const std::string& name) {
  using T = json::value_t;
  constexpr auto integer = [] {
    return type_bit(T::number_integer) | type_bit(T::number_unsigned);
  };
  if (name == "null") return type_bit(T::null);
  if (name == "boolean") return type_bit(T::boolean);
  if (name == "string") return type_bit(T::string);
  if (name == "object") return type_bit(T::object);
  if (name == "array") return type_bit(T::array);
  if (name == "integer") return integer();
  if (name == "number") return integer() | type_bit(T::number_float);
  return 0;
}

/// True for values with only one form; numbers have several (1 and 1.0).
bool is_plain_choice(const json& value) {
  return value.is_null() || value.is_boolean() || value.is_string();
}

struct Unknown {};  // an unsupported keyword, or an unsupported use of one

void need_known(bool known) {
  if (!known) throw Unknown();
}

}  // namespace

class QuickSchema::Compiler {
 public:
  explicit Compiler(const json& schema) : schema_(schema) {}

  const Node* node(const json& text) {
    need_known(text.is_object());
    if (const auto reference = text.find("$ref"); reference != text.end()) {
      need_known(reference->is_string());
      const std::string place = *reference;
      need_known(place.starts_with("#/"));
      return node(schema_.at(json::json_pointer(place.substr(1))));  // fields beside it are ignored
    }
    const auto [known, fresh] = by_source_.try_emplace(&text, nullptr);
    if (!fresh) return known->second;
    Node& added = nodes_.emplace_back();
    known->second = &added;  // before the parts, which may refer to the whole
    for (const auto& [keyword, value] : text.items()) take(added, keyword, value);
    need_known(added.condition != nullptr || (added.then == nullptr && added.otherwise == nullptr));
    return &added;
  }

  std::deque<Node> nodes_;

 private:
  void take(Node& into, const std::string& keyword, const json& value) {
    static const std::set<std::string> silent{"$schema", "title", "description", "definitions"};
    if (silent.contains(keyword) || of_values(into, keyword, value)) return;
    if (keyword == "required") {
      const std::set<std::string> names = value;
      into.required.assign(names.begin(), names.end());
    } else if (keyword == "properties") {
      for (const auto& [name, inner] : value.items())
        into.properties.emplace_back(name, node(inner));
    } else if (keyword == "additionalProperties") {
      if (value.is_boolean())
        into.closed = value == false;
      else
        into.others = node(value);
    } else if (keyword == "items") {
      into.items = node(value);
    } else if (keyword == "allOf") {
      for (const json& part : value) into.all_of.push_back(node(part));
    } else if (keyword == "if") {
      into.condition = node(value);
    } else if (keyword == "then") {
      into.then = node(value);
    } else if (keyword == "else") {
      into.otherwise = node(value);
    } else {
      throw Unknown();
    }
  }

  /// Keywords whose values contain no schemas.
  static bool of_values(Node& into, const std::string& keyword, const json& value) {
    if (keyword == "type") {
      into.types = 0;
      for (const json& name : value.is_array() ? value : json::array({value})) {
        const unsigned bits = type_bits(name.get<std::string>());
        need_known(bits != 0);
        into.types |= bits;
      }
    } else if (keyword == "const" || keyword == "enum") {
      need_known(!into.choices);  // not both at one place
      into.choices = keyword == "enum" ? value : json::array({value});
      need_known(std::all_of(into.choices->begin(), into.choices->end(), is_plain_choice));
    } else if (keyword == "minLength") {
      need_known(value == 1);
      into.not_empty = true;
    } else {
      return limit(into, keyword, value);
    }
    return true;
  }

  static bool limit(Node& target, const std::string& keyword, const json& value) {
    const std::pair<const char*, double*> of_numbers[] = {{"minimum", &target.minimum},
                                                          {"maximum", &target.maximum},
                                                          {"exclusiveMinimum", &target.above},
                                                          {"exclusiveMaximum", &target.below}};
    if (put(of_numbers, keyword, value, value.is_number())) return true;
    const std::pair<const char*, std::size_t*> of_counts[] = {
        {"minItems", &target.least_items},
        {"maxItems", &target.most_items},
        {"minProperties", &target.least_members},
        {"maxProperties", &target.most_members}};
    return put(of_counts, keyword, value, value.is_number_unsigned());
  }

  /// Puts the value where its keyword belongs; false if the keyword is none of these.
  template <class Limits>
  static bool put(const Limits& limits, const std::string& keyword, const json& value, bool known) {
    for (const auto& [name, into] : limits)
      if (keyword == name) {
        need_known(known);
        *into = value;
        return true;
      }
    return false;
  }

  const json& schema_;
  std::map<const json*, const Node*> by_source_;
};

std::optional<QuickSchema> QuickSchema::compile(const json& schema) {
  try {
    Compiler compiler(schema);
    QuickSchema compiled;
    compiled.root_ = compiler.node(schema);
    compiled.nodes_ = std::make_shared<const std::deque<Node>>(std::move(compiler.nodes_));
    return compiled;  // moving a deque does not move its nodes
  } catch (const Unknown&) {
    return std::nullopt;
  } catch (const json::exception&) {  // an invalid schema; valijson reports what is wrong
    return std::nullopt;
  }
}

bool QuickSchema::accepts(const json& value) const { return holds(*root_, value); }

bool QuickSchema::holds(const Node& node, const json& value) {
  if ((node.types & type_bit(value.type())) == 0) return false;
  if (node.choices &&
      std::none_of(node.choices->begin(), node.choices->end(), [&](const json& choice) {
        return choice.type() == value.type() && choice == value;
      }))
    return false;
  if (value.is_object()) {
    if (!holds_of_object(node, value)) return false;
  } else if (value.is_array()) {
    if (!holds_of_list(node, value)) return false;
  } else if (value.is_number()) {
    const double number = value;
    if (number < node.minimum || number > node.maximum || number <= node.above ||
        number >= node.below)
      return false;
  } else if (node.not_empty && value.is_string()) {
    // Counts bytes that begin a character; an invalid UTF-8 text may have none.
    const std::string& text = value.get_ref<const std::string&>();
    if (std::all_of(text.begin(), text.end(),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }))
      return false;
  }
  if (!std::all_of(node.all_of.begin(), node.all_of.end(),
                   [&](const Node* part) { return holds(*part, value); }))
    return false;
  if (node.condition == nullptr) return true;
  const Node* branch = holds(*node.condition, value) ? node.then : node.otherwise;
  return branch == nullptr || holds(*branch, value);
}

bool QuickSchema::holds_of_object(const Node& node, const json& value) {
  const json::object_t& members = value.get_ref<const json::object_t&>();
  if (members.size() < node.least_members || members.size() > node.most_members) return false;
  // All three lists have the same order, so one pass suffices.
  auto required = node.required.begin();
  auto property = node.properties.begin();
  for (const auto& [name, inner] : members) {
    if (required != node.required.end()) {
      const int order = required->compare(name);
      if (order < 0) return false;
      if (order == 0) ++required;
    }
    while (property != node.properties.end() && property->first < name) ++property;
    if (property != node.properties.end() && property->first == name) {
      if (!holds(*property->second, inner)) return false;
    } else if (node.closed || (node.others != nullptr && !holds(*node.others, inner))) {
      return false;
    }
  }
  return required == node.required.end();
}

bool QuickSchema::holds_of_list(const Node& node, const json& value) {
  if (value.size() < node.least_items || value.size() > node.most_items) return false;
  return node.items == nullptr || std::all_of(value.begin(), value.end(), [&](const json& inner) {
           return holds(*node.items, inner);
         });
}

}  // namespace assay
