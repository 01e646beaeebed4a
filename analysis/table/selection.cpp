#include "analysis/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/pattern.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

const Texts row_keys{"benchmark", "problem", "id", "status", "result", "system", "host"};

bool contains(const Texts& texts, const std::string& text) {
  return std::ranges::find(texts, text) != texts.end();
}

/// Refuses a key that no row has. `more`: additional keys beside those of the rows.
void check_key(const SeriesList& all, const char* flag, const std::string& key, const Texts& more) {
  Texts keys = row_keys, known = list_parameter_names(all);
  keys.insert(keys.end(), more.begin(), more.end());
  for (const std::string& name : keys)
    if (!contains(known, name)) known.push_back(name);
  if (contains(known, key)) return;
  std::string message = explain_unknown_name(fmt::format("key of {}", flag), key, known);
  // Rows of several benchmarks have too many parameters to list.
  if (known.size() > most_valid_names)
    message += fmt::format(" Keys are {} and the parameters of the rows.", join(keys, ", "));
  throw InputError(message);
}

/// All values of a key, as texts; "" is the key of a clause without one.
Texts texts_of_key(const Results& results, const Series& series, const std::string& key) {
  const Row& row = series.first();
  if (key.empty()) return {row.id, series.problem()};
  if (key == "benchmark") return {row.benchmark};
  if (key == "id") return {row.id};
  if (key == "problem") return {series.problem(), row.problem.descriptor};
  if (key == "status") return {find_status(series)};
  if (key == "result") return {results[series.result].name};
  if (key == "system") return {name_system(results, series)};
  if (key == "host") return {results[series.result].environment(row).host};
  if (key == "algorithm") return {format_axis(series, key), series.parameter(key)};
  return {series.parameter(key)};
}

struct Clause {
  std::string key;
  TextPattern pattern;
  bool whole = true, wanted = true;
};

Clause parse_clause(const SeriesList& all, const std::string& text) {
  const std::string source = fmt::format("--filter '{}'", text);
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos) return {"", TextPattern(text, source), false, true};
  const bool wanted = equal == 0 || text[equal - 1] != '!';
  Clause clause{text.substr(0, wanted ? equal : equal - 1),
                TextPattern(text.substr(equal + 1), source), true, wanted};
  check_key(all, "--filter", clause.key, {});
  return clause;
}

bool holds(const Results& results, const Series& series, const Clause& clause) {
  const bool matches =
      std::ranges::any_of(texts_of_key(results, series, clause.key), [&](const std::string& value) {
        return clause.whole ? clause.pattern.match_groups(value).has_value()
                            : clause.pattern.in(value);
      });
  return matches == clause.wanted;
}

/// The value by which a series is sorted: numbers before texts, missing values last.
struct SortValue {
  std::optional<double> number;
  std::string text{};
  bool missing() const { return !number && text.empty(); }
};

SortValue sort_value(const Results& results, const Series& series, const std::string& key) {
  if (key == "time") return {has_time(series) ? std::optional(series.median) : std::nullopt};
  if (key == "rate") return {main_rate(series)};
  if (key == "error") return {largest_error(series)};
  const std::string text = texts_of_key(results, series, key).front();
  return {parse_number(text), text};
}

bool is_less(const SortValue& a, const SortValue& b) {
  if (a.number && b.number) return *a.number < *b.number;
  if (a.number || b.number) return a.number.has_value();
  return a.text < b.text;
}

}  // namespace

SeriesList filter_series(const Results& results, SeriesList all, const Texts& clauses) {
  if (all.empty()) return all;
  std::vector<Clause> checked;
  for (const std::string& text : clauses) checked.push_back(parse_clause(all, text));
  std::erase_if(all, [&](const Series& series) {
    return !std::ranges::all_of(
        checked, [&](const Clause& clause) { return holds(results, series, clause); });
  });
  if (all.empty())
    throw InputError(
        fmt::format("--filter {}: no row matches (KEY=PATTERN must match the whole value). Widen a "
                    "pattern, like precision=.*16.",
                    join(clauses, ",")));
  return all;
}

void sort_by(const Results& results, SeriesList& all, const std::string& order) {
  if (order.empty() || all.empty()) return;
  const std::size_t colon = order.rfind(':');
  const std::string key = order.substr(0, colon);
  const std::string way = colon == std::string::npos ? "asc" : order.substr(colon + 1);
  const Texts ways{"asc", "desc"};
  if (!contains(ways, way))
    throw InputError(explain_unknown_name("direction of --sort", way, ways));
  check_key(all, "--sort", key, {"time", "rate", "error"});
  std::ranges::stable_sort(all, [&](const Series& a, const Series& b) {
    const SortValue first = sort_value(results, a, key), second = sort_value(results, b, key);
    if (first.missing() || second.missing()) return !first.missing() && second.missing();
    return way == "desc" ? is_less(second, first) : is_less(first, second);
  });
}

}  // namespace assay
