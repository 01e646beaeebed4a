#include "analysis/table/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

Quantity quantity_of(const Series& series) {
  if (series.status == "ok") return {series.median, "s"};
  return {series.rate, series.rate_name};
}

Quantity quantity_of(const json& match) { return {match.at("value"), match.at("unit")}; }

std::string status_of(const Series& series) {
  return quantity_of(series).unit.empty() ? series.status : "ok";
}

std::string human_quantity(const Quantity& quantity) {
  if (quantity.unit == "s") return human_seconds(quantity.value);
  return human_rate(quantity.unit, quantity.value);
}

std::string marked_quantity(const Series& series) {
  return human_quantity(quantity_of(series)) + published_mark(series.first()) + mark_of(series);
}

std::optional<double> largest_error(const Series& series) {
  std::optional<double> largest;
  for (const json& row : series.rows) {
    const json verification = row.value("verification", json());
    if (!verification.is_object() || !verification.at("max_error").is_number()) continue;
    largest = std::max(largest.value_or(0), verification["max_error"].get<double>());
  }
  return largest;
}

bool has_error(const Series& series) { return largest_error(series).has_value(); }

std::string error_cell(const Series& series) {
  const std::optional<double> largest = largest_error(series);
  return largest ? human_error(*largest) : series.published ? "published" : "-";
}

std::string benchmark_and_problem(const json& row) {
  return text_of(row, "benchmark") + " " + text_of(row.at("problem"), "descriptor");
}

namespace {

/// The problems of rows, each with its benchmark.
struct Problems {
  std::set<std::string> own;
  std::set<std::string> known;  ///< also by the names that lists give

  void add(const json& row) {
    own.insert(benchmark_and_problem(row));
    known.insert(benchmark_and_problem(row));
    for (const json& name : row.value("names", json::array())) {
      const std::string text = name;
      known.insert(text_of(row, "benchmark") + " " + text.substr(text.find('/') + 1));
    }
  }
  void add(const Problems& other) {
    own.insert(other.own.begin(), other.own.end());
    known.insert(other.known.begin(), other.known.end());
  }
};

std::string some(const std::set<std::string>& works) {
  if (works.empty()) return "no row";
  return *works.begin() +
         (works.size() > 1 ? fmt::format(" and {} more", works.size() - 1) : std::string());
}

/// The line that says so; "" where there is a problem of `mine` among `its`, or none to compare.
std::string nothing_common(const Problems& mine, const std::string& system,
                           const std::set<std::string>& its, const std::set<std::string>& known) {
  if (mine.own.empty() || std::any_of(mine.known.begin(), mine.known.end(),
                                      [&](const auto& name) { return known.contains(name); }))
    return "";
  return fmt::format(
      "No problem is common with {}: no row here has a counterpart (they have {}, {} has {}).\n",
      visible(system), visible(some(mine.own)), visible(system), visible(some(its)));
}

}  // namespace

std::string nothing_common(const std::vector<Series>& all, const std::vector<Baseline>& baselines) {
  Problems mine;
  for (const Series& series : all) mine.add(series.first());
  std::string text;
  for (const Baseline& baseline : baselines) {
    Problems its;
    for (const json& row : baseline.rows()) its.add(row);
    text += nothing_common(mine, baseline.system(), its.own, its.own);
  }
  return text;
}

std::string nothing_common_by_system(const std::vector<NamedResult>& results,
                                     const std::vector<Series>& all) {
  std::vector<Problems> problems(results.size());
  std::vector<std::string> systems(results.size());
  for (const Series& series : all) {
    problems[series.result].add(series.first());
    systems[series.result] = series.parameter("system");
  }
  std::map<std::string, std::size_t> owners;  // of a problem
  for (const Problems& own : problems)
    for (const std::string& name : own.known) ++owners[name];
  std::string text;
  const auto with_rows = std::count_if(systems.begin(), systems.end(),
                                       [](const std::string& system) { return !system.empty(); });
  bool first = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (systems[i].empty()) continue;
    // Of two systems, one line says it of both.
    if (std::exchange(first, false) && with_rows == 2) continue;
    if (std::any_of(problems[i].known.begin(), problems[i].known.end(),
                    [&](const std::string& name) { return owners[name] > 1; }))
      continue;
    Problems others;
    for (std::size_t other = 0; other < results.size(); ++other)
      if (other != i) others.add(problems[other]);
    text += nothing_common(others, systems[i], problems[i].own, problems[i].known);
  }
  return text;
}

json beside(const Series& series, const Baseline* baseline, const std::string& system,
            std::string* why, Preference preference) {
  const Quantity mine = quantity_of(series);
  if (mine.unit.empty()) return nullptr;
  json row = series.first();
  if (mine.unit == "s") {
    // The ratio is of the value shown, not of the first launch.
    const double first = row["time_s"]["median"];
    row["time_s"]["median"] = series.median;
    for (auto& [name, rate] : row["rates"].items())
      if (rate.is_number() && series.median > 0)
        rate = rate.get<double>() * (first / series.median);
  }
  if (baseline != nullptr) return baseline->match(row, why, preference);
  if (!row.contains("baseline") || !row["baseline"].is_object() ||
      row["baseline"].at("system") != system)
    return nullptr;
  json match = row["baseline"];
  const std::string unit = match.at("unit");
  const double value = match.at("value");
  if (match.at("unit") == "s")
    match["speedup"] = series.median > 0 ? value / series.median : 0;
  else if (value > 0)
    match["speedup"] = row["rates"].value(match["unit"].get<std::string>(), 0.0) / value;
  return match;
}

std::string ratio_mark(const Series& series, const json& match) {
  const bool unknown = match.is_object() && match.contains("not_given");
  return worse_mark(mark_of(series), mark_told(match)) + (unknown ? "?" : "");
}

std::string published_mark(const json& row_or_match) {
  if (row_or_match.contains("projection")) return "‡";
  return row_or_match.value("published", false) ? "*" : "";
}

std::string ratio_cell(const std::string& ratio, bool absolutes, const Quantity& over,
                       const Quantity& under) {
  if (!absolutes) return ratio;
  return fmt::format("{} ({} / {})", ratio, human_quantity(over), human_quantity(under));
}

std::string printed_note(const Series& series, const json& match) {
  return fmt::format(
      "{} {}: the source prints {}, which does not follow from the rounded {} and {} that it "
      "prints: "
      "its ratio is kept.",
      printed_mark, text_of(series.first(), "id"), match.at("ratio_printed").get<std::string>(),
      human_quantity(quantity_of(series)), human_quantity(quantity_of(match)));
}

void add_origin(Table& table, const std::vector<NamedResult>& results,
                const std::vector<Series>& rows) {
  if (results.size() > 1)
    table.add({"result"}, [&](std::size_t i) { return results[rows[i].result].name; });
  if (several_benchmarks(rows))
    table.add({"benchmark"}, [&](std::size_t i) { return text_of(rows[i].first(), "benchmark"); });
}

bool several_benchmarks(const std::vector<Series>& all) {
  return std::any_of(all.begin(), all.end(), [&](const Series& series) {
    return series.first().at("benchmark") != all.front().first().at("benchmark");
  });
}

std::string counts(const std::vector<Series>& all) {
  std::string text;
  for (const char* status : row_statuses) {
    const auto n = std::count_if(all.begin(), all.end(),
                                 [&](const Series& series) { return status_of(series) == status; });
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, status);
  }
  return text.empty() ? "no rows" : text;
}

void explain_projection(const std::string& system, const json& row, Legend& legend) {
  if (row.contains("projection"))
    legend.add(fmt::format("\u2021 {}: a projection, not a measurement: {}.", system,
                           text_of(row, "projection")));
}

void explain_projected(const std::string& system, const json& match, Legend& legend) {
  if (match.contains("projection"))
    legend.add(fmt::format("\u2021 {}: a projection, not a measurement.", system));
}

void explain_not_given(const std::string& system, const json& match, Legend& legend) {
  if (!match.contains("not_given")) return;
  const std::string remark = text_of(match, "remark");
  legend.add(
      fmt::format("? {}: its source does not give {}; the ratio holds if they were the same.{}",
                  system, join(match["not_given"].get<std::vector<std::string>>(), ", "),
                  remark.empty() ? "" : fmt::format(" {}: {}.", system, remark)));
}

void add_title(Page& page, const std::vector<NamedResult>& results,
               const std::vector<std::string>& constants) {
  for (const NamedResult& named : results) {
    const json& run = named.result.at("run");
    const std::string suite = text_of(run, "suite"), started = text_of(run, "started");
    page.line(
        fmt::format("{}system {}{}{}", named.name.empty() ? "" : named.name + ": ",
                    text_of(named.result.at("system"), "name"),
                    suite.empty() ? "" : ", suite " + suite, started.empty() ? "" : ", " + started),
        true);
  }
  for (const std::string& line : constants) page.line(line, line != constants.back());
  page.blank();
}

}  // namespace assay
