#include "analysis/accept/criteria.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file)
      : file_(file.string()), document_(read_checked(file, "criteria")) {}

  Criteria read() const {
    Criteria made;
    made.name = document_["name"];
    made.file = file_;
    const json& nodes = document_["nodes"];
    if (nodes.is_array()) made.node_names = names(nodes);
    if (nodes.is_number()) made.node_count = nodes.get<std::size_t>();
    const json rows = document_.value("rows", json::object());
    for (const auto& [key, rules] :
         {std::pair{"include", &made.include}, {"exclude", &made.exclude}}) {
      std::size_t index = 0;
      for (const json& text : rows.value(key, json::array()))
        rules->push_back(rule(text, fmt::format("/rows/{}/{}", key, index++)));
    }
    each("relative", [&](const json& rule, const std::string& at) {
      RelativeRule relative{rows_of(rule, at), rule["slower_at_most"], "",
                            rule.value("optional", false)};
      relative.text = fmt::format("at most {:g} % slower than the other nodes{}",
                                  100 * relative.slower_at_most, of_rows(relative.rows));
      made.relative.push_back(std::move(relative));
    });
    each("absolute", [&](const json& rule, const std::string& at) {
      AbsoluteRule absolute{rows_of(rule, at),
                            rule["quantity"],
                            limit(rule, "at_least"),
                            limit(rule, "at_most"),
                            "",
                            rule.value("optional", false)};
      absolute.text =
          fmt::format("{}{}{}", absolute.quantity, bounds(absolute.at_least, absolute.at_most),
                      of_rows(absolute.rows));
      made.absolute.push_back(std::move(absolute));
    });
    each("health",
         [&](const json& rule, const std::string& at) { made.health.push_back(health(rule, at)); });
    return made;
  }

 private:
  template <class Body>
  void each(const char* key, Body body) const {
    std::size_t index = 0;
    for (const json& rule : document_.value(key, json::array()))
      body(rule, fmt::format("/{}/{}", key, index++));
  }

  static std::optional<double> limit(const json& rule, const char* key) {
    return rule.contains(key) ? std::optional(rule[key].get<double>()) : std::nullopt;
  }

  static std::string bounds(const std::optional<double>& least, const std::optional<double>& most) {
    std::string text;
    if (least) text += fmt::format(" at least {:g}", *least);
    if (most) text += fmt::format("{} at most {:g}", least ? "," : "", *most);
    return text;
  }

  static std::string of_rows(const RowsRule& rows) {
    return rows.text.empty() ? "" : " (rows " + rows.text + ")";
  }

  RowsRule rows_of(const json& entry, const std::string& at) const {
    return rule(entry.value("rows", ""), at + "/rows");
  }

  RowsRule rule(const std::string& text, const std::string& at) const {
    return {text, Pattern(text, fmt::format("{} at {}: {}", file_, at, json(text).dump()))};
  }

  /// "/load_per_core/0" as people say it.
  static std::string words_of(std::string pointer) {
    constexpr std::array periods{" (last minute)", " (last 5 minutes)", " (last 15 minutes)"};
    for (std::size_t i = 0; i < periods.size(); ++i)
      if (pointer.starts_with("/load") && pointer.ends_with(fmt::format("/{}", i)))
        pointer.replace(pointer.rfind('/'), std::string::npos, periods[i]);
    if (pointer.starts_with('/')) pointer.erase(0, 1);
    std::replace_if(
        pointer.begin(), pointer.end(), [](char c) { return c == '/' || c == '_'; }, ' ');
    return pointer;
  }

  /// Each only once. The schema does not ask for it: its check of n names compares n * n pairs.
  std::vector<std::string> names(const json& nodes) const {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (const auto [place, added] = places.emplace(nodes[i], i); !added)
        throw InputError(
            fmt::format("{} at /nodes/{}: found {} again (it is at /nodes/{}), "
                        "expected each name once.",
                        file_, i, nodes[i].dump(), place->second));
    return nodes;
  }

  HealthRule health(const json& rule, const std::string& at) const {
    HealthRule made;
    const std::string pointer = rule["quantity"];
    try {
      made.quantity = json::json_pointer(pointer);
    } catch (const json::exception&) {
      throw InputError(fmt::format(
          "{} at {}/quantity: found {}, expected a JSON pointer into volatile, like /load/0.",
          file_, at, json(pointer).dump()));
    }
    made.text = words_of(pointer);
    const std::string when = rule.value("when", "both");
    made.before = when != "after";
    made.after = when != "before";
    made.at_least = limit(rule, "at_least");
    made.at_most = limit(rule, "at_most");
    made.grows_at_most = limit(rule, "grows_at_most");
    made.required = rule.value("required", false);
    made.optional = rule.value("optional", false);
    made.of_noise = pointer.starts_with("/load") || pointer == "/steal_s";
    return made;
  }

  std::string file_;
  json document_;
};

}  // namespace

bool Criteria::includes(const std::string& id) const {
  const auto applies = [&](const RowsRule& rule) { return rule.applies_to(id); };
  return (include.empty() || std::any_of(include.begin(), include.end(), applies)) &&
         std::none_of(exclude.begin(), exclude.end(), applies);
}

namespace {
std::filesystem::path shipped() { return data_folder("suites") / "criteria"; }
}  // namespace

std::vector<std::string> criteria_names() { return json_names(shipped()); }

std::filesystem::path find_criteria(const std::string& name) {
  if (std::filesystem::exists(name) && !std::filesystem::is_directory(name)) return name;
  const std::filesystem::path file = shipped() / (name + ".json");
  if (std::filesystem::is_regular_file(file)) return file;
  throw InputError(unknown_name("criteria", name, criteria_names()) +
                   " Criteria are a JSON file, or the name of a file in " + shipped().string() +
                   ".");
}

Criteria read_criteria(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace assay
