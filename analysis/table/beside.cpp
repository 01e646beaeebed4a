#include "analysis/table/beside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

namespace {

/// The problems of rows, each with its benchmark.
struct Problems {
  std::set<std::string> own{};
  std::set<std::string> known{};  ///< including the names in lists

  void add(const Row& row) {
    own.insert(benchmark_and_problem(row));
    known.insert(benchmark_and_problem(row));
    for (const std::string& name : row.names)
      known.insert(row.benchmark + " " + name.substr(name.find('/') + 1));
  }
};

std::string some(const std::set<std::string>& works) {
  if (works.empty()) return "no row";
  return visible(*works.begin() +
                 (works.size() > 1 ? fmt::format(" and {} more", works.size() - 1) : ""));
}

/// The line that says so; "" if a problem of `mine` is among `known`, or if there is nothing to
/// compare.
std::string explain_nothing_common(const Problems& mine, const std::string& system,
                                   const std::set<std::string>& its,
                                   const std::set<std::string>& known) {
  if (mine.own.empty() || std::ranges::any_of(mine.known, [&](const std::string& name) {
        return known.contains(name);
      }))
    return "";
  return fmt::format(
      "No problem is common with {}: no row here has a counterpart (they have {}, {} has {}).\n",
      visible(system), some(mine.own), visible(system), some(its));
}

}  // namespace

std::string benchmark_and_problem(const Row& row) {
  return row.benchmark + " " + row.problem.descriptor;
}

std::string explain_nothing_common(const SeriesList& all, const std::vector<Baseline>& baselines) {
  Problems mine;
  for (const Series& series : all) mine.add(series.first());
  std::string text;
  for (const Baseline& baseline : baselines) {
    std::set<std::string> its;
    for (const Row& row : baseline.rows()) its.insert(benchmark_and_problem(row));
    text += explain_nothing_common(mine, baseline.system(), its, its);
  }
  return text;
}

std::string explain_nothing_common_by_system(const Results& results, const SeriesList& all) {
  std::vector<Problems> problems(results.size());
  Texts systems(results.size());
  for (const Series& series : all) {
    problems[series.result].add(series.first());
    systems[series.result] = series.parameter("system");
  }
  std::string text;
  const auto without_rows = std::ranges::count(systems, "");
  bool first = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (systems[i].empty()) continue;
    // For two systems, one line covers both.
    if (std::exchange(first, false) && systems.size() - without_rows == 2) continue;
    Problems others;
    for (std::size_t other = 0; other < results.size(); ++other) {
      if (other == i) continue;
      others.own.insert(problems[other].own.begin(), problems[other].own.end());
      others.known.insert(problems[other].known.begin(), problems[other].known.end());
    }
    text += explain_nothing_common(others, systems[i], problems[i].own, problems[i].known);
  }
  return text;
}

std::vector<System> list_systems(const SeriesList& all, const std::vector<Baseline>& baselines) {
  std::vector<System> systems;
  for (const Baseline& baseline : baselines) systems.push_back({baseline.system(), &baseline});
  if (!systems.empty()) return systems;
  std::set<std::string> seen;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      if (row.baseline && seen.insert(row.baseline->system).second)
        systems.push_back({row.baseline->system});
  return systems;
}

Match beside(const Series& series, const System& system, std::string* why, Preference preference) {
  if (!has_number(series)) return std::nullopt;
  Row row = series.first();
  if (series.status == "ok") {
    // The ratio uses the displayed value, not that of the first launch.
    const double first = row.median();
    row.time_s->median = series.median;
    for (auto& [name, rate] : row.rates)
      if (rate && series.median > 0) rate = *rate * (first / series.median);
  }
  if (system.baseline != nullptr) return system.baseline->match(row, why, preference);
  if (!row.baseline || row.baseline->system != system.name) return std::nullopt;
  RowBaseline match = *row.baseline;
  if (match.unit == "s")
    match.speedup = series.median > 0 ? match.value / series.median : 0;
  else if (match.value > 0)
    match.speedup = row.rate(match.unit).value_or(0) / match.value;
  return match;
}

Quantity make_quantity(const RowBaseline& match) { return {match.value, match.unit}; }

std::string mark_published(const RowBaseline& match) {
  return match.projection ? "‡" : match.published ? "*" : "";
}

std::string format_ratio_marks(const Series& series, const RowBaseline& match,
                               const std::string& name, Legend& legend) {
  std::string marks = worse_mark(choose_mark(series), choose_mark(match.shared, match.throttled));
  if (!match.not_given.empty()) {
    marks += "?";
    legend.add(
        fmt::format("? {}: its source does not give {}; the ratio holds if they were the same.{}",
                    name, join(match.not_given, ", "),
                    match.remark.empty() ? "" : fmt::format(" {}: {}.", name, match.remark)));
  }
  if (match.ratio_printed.empty()) return marks;
  legend.add(fmt::format(
      "{} {}: the source prints {}, which does not follow from the rounded {} and {} that it "
      "prints: its ratio is kept.",
      printed_mark, series.first().id, match.ratio_printed, format_quantity(make_quantity(series)),
      format_quantity(make_quantity(match))));
  return marks + printed_mark;
}

std::string format_ratio_cell(const std::string& ratio, bool absolutes, const Quantity& over,
                              const Quantity& under) {
  if (!absolutes) return ratio;
  return fmt::format("{} ({} / {})", ratio, format_quantity(over), format_quantity(under));
}

void explain_projection(const std::string& system, const Row& row, Legend& legend) {
  if (!row.projection.empty())
    legend.add(fmt::format("‡ {}: a projection, not a measurement: {}.", system, row.projection));
}

void explain_projection(const std::string& system, const RowBaseline& match, Legend& legend) {
  if (match.projection) legend.add(fmt::format("‡ {}: a projection, not a measurement.", system));
}

}  // namespace assay
