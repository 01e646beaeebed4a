#include "analysis/accept/criteria.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/accept/file_hash.hpp"
#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string bounds(const std::optional<double>& least, const std::optional<double>& most) {
  std::string text;
  if (least) text += fmt::format(" at least {:g}", *least);
  if (most) text += fmt::format("{} at most {:g}", least ? "," : "", *most);
  return text;
}

/// The pointer "/load_per_core/0" in words.
std::string words(std::string pointer) {
  constexpr std::array periods{" (last minute)", " (last 5 minutes)", " (last 15 minutes)"};
  for (std::size_t i = 0; i < periods.size(); ++i)
    if (pointer.starts_with("/load") && pointer.ends_with(fmt::format("/{}", i)))
      pointer.replace(pointer.rfind('/'), std::string::npos, periods[i]);
  if (pointer.starts_with('/')) pointer.erase(0, 1);
  std::replace_if(
      pointer.begin(), pointer.end(), [](char c) { return c == '/' || c == '_'; }, ' ');
  return pointer;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file.string()) {}

  Criteria read() const {
    const json document = read_checked(file_, "criteria");
    FieldReader fields(document);
    Criteria criteria;
    criteria.file = file_;
    criteria.sha256 = file_sha256(file_);
    criteria.content = document;
    json nodes, rows = json::object();
    fields.always("name", criteria.name, "nodes", nodes, "rows", rows);
    if (nodes.is_array()) criteria.node_names = read_names(nodes);
    if (nodes.is_number()) criteria.node_count = nodes.get<std::size_t>();
    FieldReader row_fields(rows);
    read_each(row_fields, "/rows", "include", criteria.include);
    read_each(row_fields, "/rows", "exclude", criteria.exclude);
    read_each(fields, "", "relative", criteria.relative);
    read_each(fields, "", "spread", criteria.spread);
    read_each(fields, "", "absolute", criteria.absolute);
    read_each(fields, "", "health", criteria.health);
    read_each(fields, "", "devices", criteria.devices);
    return criteria;
  }

 private:
  template <class Rule>
  void read_each(FieldReader& fields, const std::string& place, const char* key,
                 std::vector<Rule>& rules) const {
    std::vector<json> entries;
    fields.optional(key, entries);
    for (const json& entry : entries) {
      const std::string at = fmt::format("{}/{}/{}", place, key, rules.size());
      read_rule(entry, at, rules.emplace_back());
    }
  }

  void read_rule(const json& text, const std::string& at, RowsRule& rule) const {
    rule.text = text.get<std::string>();
    rule.pattern = TextPattern(rule.text, fmt::format("{} at {}: {}", file_, at, text.dump()));
  }

  /// The fields that all rules on rows have.
  void read_rows(FieldReader& fields, const std::string& at, RowCriterion& rule) const {
    json rows = "";
    fields.optional("rows", rows, "optional", rule.optional);
    read_rule(rows, at + "/rows", rule.rows);
    if (rows != "") rule.text = " (rows " + rule.rows.text + ")";  // after the text of the limits
  }

  void read_rule(const json& entry, const std::string& at, RelativeRule& rule) const {
    FieldReader fields(entry);
    read_rows(fields, at, rule);
    fields.always("slower_at_most", rule.slower_at_most);
    rule.text = fmt::format("at most {:g} % slower than the other nodes{}",
                            100 * rule.slower_at_most, rule.text);
  }

  void read_rule(const json& entry, const std::string& at, SpreadRule& rule) const {
    FieldReader fields(entry);
    read_rows(fields, at, rule);
    fields.optional("false_alarms", rule.false_alarms, "slower_at_least", rule.slower_at_least,
                    "spread_at_most", rule.at_most);
    rule.text =
        fmt::format("no node slower than the spread of the nodes explains ({:g} % false alarms){}",
                    100 * rule.false_alarms, rule.text);
  }

  void read_rule(const json& entry, const std::string& at, AbsoluteRule& rule) const {
    FieldReader fields(entry);
    read_rows(fields, at, rule);
    fields.always("quantity", rule.quantity);
    fields.optional("at_least", rule.at_least, "at_most", rule.at_most);
    rule.text = rule.quantity + bounds(rule.at_least, rule.at_most) + rule.text;
  }

  void read_rule(const json& entry, const std::string& at, HealthRule& rule) const {
    FieldReader fields(entry);
    std::string pointer, moment_name = "both";
    std::optional<double> least, most, growth;
    fields.always("quantity", pointer, "when", moment_name);
    fields.optional("at_least", least, "at_most", most, "grows_at_most", growth);
    fields.optional("required", rule.required, "optional", rule.optional);
    try {
      rule.quantity = json::json_pointer(pointer);
    } catch (const json::exception&) {
      throw InputError(fmt::format(
          "{} at {}/quantity: found {}, expected a JSON pointer into volatile, like /load/0.",
          file_, at, json(pointer).dump()));
    }
    rule.from_noise = pointer.starts_with("/load") || pointer == "/steal_s";
    const std::string text = words(pointer);
    using Moment = StateLimit::Moment;
    for (const auto& [when, name] :
         {std::pair{Moment::before, "before"}, {Moment::after, "after"}}) {
      const std::string state = fmt::format("{} {} the run", text, name);
      if (moment_name != name && moment_name != "both") continue;
      if (least) rule.limits.push_back({state + bounds(least, {}), when, *least, false});
      if (most) rule.limits.push_back({state + bounds({}, most), when, *most});
    }
    if (growth)
      rule.limits.push_back(
          {fmt::format("{} grows at most {:g}", text, *growth), Moment::growth, *growth});
  }

  void read_rule(const json& entry, const std::string&, DeviceRule& rule) const {
    FieldReader fields(entry);
    fields.always("quantity", rule.quantity);
    fields.optional("at_least", rule.at_least, "at_most", rule.at_most, "optional", rule.optional);
    rule.text = rule.quantity + " of each device" + bounds(rule.at_least, rule.at_most);
  }

  /// Refuses repeated names. The schema does not check this, because its check of n names compares
  /// n * n pairs.
  std::vector<std::string> read_names(const json& nodes) const {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (const auto [place, added] = places.emplace(nodes[i], i); !added)
        throw InputError(
            fmt::format("{} at /nodes/{}: found {} again (it is at /nodes/{}), expected each name "
                        "once.",
                        file_, i, nodes[i].dump(), place->second));
    return nodes;
  }

  std::string file_;
};

}  // namespace

bool Criteria::includes(const std::string& id) const {
  const auto applies = [&](const RowsRule& rule) { return rule.applies_to(id); };
  return (include.empty() || std::any_of(include.begin(), include.end(), applies)) &&
         std::none_of(exclude.begin(), exclude.end(), applies);
}

namespace {
std::filesystem::path criteria_folder() { return data_folder("suites") / "criteria"; }
}  // namespace

std::vector<std::string> list_criteria_names() { return list_json_names(criteria_folder()); }

std::filesystem::path find_criteria(const std::string& name) {
  if (std::filesystem::exists(name) && !std::filesystem::is_directory(name)) return name;
  const std::filesystem::path file = criteria_folder() / (name + ".json");
  if (std::filesystem::is_regular_file(file)) return file;
  throw InputError(explain_unknown_name("criteria", name, list_criteria_names()) +
                   " Criteria are a JSON file, or the name of a file in " +
                   criteria_folder().string() + ".");
}

Criteria read_criteria(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace assay
