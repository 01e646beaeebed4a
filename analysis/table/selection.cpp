#include "analysis/table/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/pattern.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/rate_cells.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

const std::vector<std::string> row_keys{"benchmark", "problem", "id", "status", "result", "system"};
const std::vector<std::string> number_keys{"time", "rate", "error"};

/// Refuses what no row has.
void check_key(const std::vector<Series>& all, const char* flag, const std::string& key,
               const std::vector<std::string>& more) {
  std::vector<std::string> keys = row_keys, known = parameter_names(all);
  keys.insert(keys.end(), more.begin(), more.end());
  for (const std::string& name : keys)
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  if (std::find(known.begin(), known.end(), key) != known.end()) return;
  std::string message = unknown_name(fmt::format("key of {}", flag), key, known);
  // Rows of several benchmarks have too many parameters for a list.
  if (known.size() > most_valid_names)
    message += fmt::format(" Keys are {} and the parameters of the rows.", join(keys, ", "));
  throw InputError(message);
}

/// All texts that a key has; "" is the key of a clause without one.
std::vector<std::string> texts_of_key(const std::vector<NamedResult>& results, const Series& series,
                                      const std::string& key) {
  const nlohmann::json& row = series.first();
  if (key.empty()) return {text_of(row, "id"), series.problem()};
  if (key == "benchmark" || key == "id") return {text_of(row, key)};
  if (key == "problem") return {series.problem(), text_of(row.at("problem"), "descriptor")};
  if (key == "status") return {status_of(series)};
  if (key == "result") return {results[series.result].name};
  if (key == "system") return {system_of(results, series)};
  if (key == "algorithm") return {axis_text(series, key), series.parameter(key)};
  return {series.parameter(key)};
}

struct Clause {
  std::string key;
  Pattern pattern;
  bool whole = true, wanted = true;
};

Clause clause_of(const std::vector<Series>& all, const std::string& text) {
  const std::string what = fmt::format("--filter '{}'", text);
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos) return {"", Pattern(text, what), false, true};
  const bool wanted = equal == 0 || text[equal - 1] != '!';
  Clause clause{text.substr(0, wanted ? equal : equal - 1), Pattern(text.substr(equal + 1), what),
                true, wanted};
  check_key(all, "--filter", clause.key, {});
  return clause;
}

bool holds(const std::vector<NamedResult>& results, const Series& series, const Clause& clause) {
  const std::vector<std::string> values = texts_of_key(results, series, clause.key);
  const bool found = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
    return clause.whole ? clause.pattern.groups_of(value).has_value() : clause.pattern.in(value);
  });
  return found == clause.wanted;
}

/// What a series is sorted by: a number before a text, nothing last.
struct SortValue {
  std::optional<double> number;
  std::string text;
  bool missing() const { return !number && text.empty(); }
};

SortValue sort_value(const std::vector<NamedResult>& results, const Series& series,
                     const std::string& key) {
  if (key == "time") return {has_time(series) ? std::optional(series.median) : std::nullopt, ""};
  if (key == "rate") return {main_rate(series), ""};
  if (key == "error") return {largest_error(series), ""};
  const std::string text = texts_of_key(results, series, key).front();
  return {parse_number(text), text};
}

bool less(const SortValue& a, const SortValue& b) {
  if (a.number && b.number) return *a.number < *b.number;
  if (a.number || b.number) return a.number.has_value();
  return a.text < b.text;
}

}  // namespace

std::vector<Series> filtered(const std::vector<NamedResult>& results, std::vector<Series> all,
                             const std::vector<std::string>& clauses) {
  if (all.empty()) return all;
  std::vector<Clause> checked;
  for (const std::string& text : clauses) checked.push_back(clause_of(all, text));
  std::erase_if(all, [&](const Series& series) {
    return !std::all_of(checked.begin(), checked.end(),
                        [&](const Clause& clause) { return holds(results, series, clause); });
  });
  if (all.empty())
    throw InputError(
        fmt::format("--filter {}: no row matches (KEY=PATTERN must match the whole value). Widen a "
                    "pattern, like precision=.*16.",
                    join(clauses, ",")));
  return all;
}

void sort_by(const std::vector<NamedResult>& results, std::vector<Series>& all,
             const std::string& order) {
  if (order.empty() || all.empty()) return;
  const std::size_t colon = order.rfind(':');
  const std::string key = order.substr(0, colon);
  const std::string way = colon == std::string::npos ? "asc" : order.substr(colon + 1);
  const std::vector<std::string> ways{"asc", "desc"};
  if (std::find(ways.begin(), ways.end(), way) == ways.end())
    throw InputError(unknown_name("direction of --sort", way, ways));
  check_key(all, "--sort", key, number_keys);
  std::stable_sort(all.begin(), all.end(), [&](const Series& a, const Series& b) {
    const SortValue first = sort_value(results, a, key), second = sort_value(results, b, key);
    if (first.missing() || second.missing()) return !first.missing() && second.missing();
    return way == "desc" ? less(second, first) : less(first, second);
  });
}

}  // namespace assay
