// The evidence of rows beside their times: devices, burn-ins, links, storage, blame. The tables are
// those of other commands.

#include "analysis/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "analysis/blame_table.hpp"
#include "analysis/burn_summary.hpp"
#include "analysis/report/parts.hpp"
#include "core/base/statistics.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_lines = 500;   ///< lines of a table of nodes; the files have the others
constexpr std::size_t most_courses = 12;  ///< curves that a plot can show

json table_json(const std::string& title, const assay::Table& table) {
  json page_table = render_json_table(table);
  page_table["title"] = title;
  return page_table;
}

/// A matrix. Its lines contain the ratios of their numbers to the median of all numbers; above 1 is
/// faster.
json matrix_json(const Matrix& matrix) {
  json page_table = table_json(matrix.title, matrix.table);
  std::vector<double> positive;
  for (const assay::Line& line : matrix.table.lines)
    for (const auto& number : line.numbers)
      if (number > 0) positive.push_back(*number);
  if (positive.empty()) return page_table;
  const double middle = median(positive);
  for (json& line : page_table["lines"])
    for (const json& number : line["numbers"]) {
      const double ratio = number > 0 ? number.get<double>() / middle : 0;
      line["ratios"].push_back(ratio > 0 ? json(matrix.higher_is_better ? ratio : 1 / ratio)
                                         : json());
    }
  page_table["matrix"] = true;
  return page_table;
}

json section(const char* id, const char* title, const std::string& text, json tables) {
  return {{"id", id}, {"title", title}, {"text", text}, {"tables", std::move(tables)}};
}

/// Keeps the first lines; returns the text that says so, or "".
template <class List>
std::string cut(List& list, const char* first) {
  const std::size_t count = list.size();
  if (count <= most_lines) return "";
  list.resize(most_lines);
  return fmt::format(" The table has {} of {}: those with {} first.", most_lines, count, first);
}

json burn_section(const Results& results, const SeriesList& all) {
  BurnTotals sums;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      if (row.burn) sums.add(row, results[series.result].environment(row).host);
  std::vector<BurnTotal> totals = sums.take();
  if (totals.empty()) return nullptr;
  const auto slowing = [](const BurnTotal& total) {
    return total.drift ? std::abs(std::log(total.drift->ratio)) : 0;
  };
  std::ranges::stable_sort(totals, std::greater(), [&](const BurnTotal& total) {
    return std::tuple(total.faulty, total.undecided, slowing(total));
  });
  const std::string left_out = cut(totals, "faults, then those whose time has changed most");
  json curves = json::array();
  for (const BurnTotal& total : totals) {
    if (total.course.size() < 2 || curves.size() == most_courses) continue;
    json points = json::array();
    for (const DriftPoint& point : total.course)
      points.push_back({{"minutes", point.minutes}, {"ratio", point.ratio}});
    const std::string name = total.host + " " + total.id;
    curves.push_back({{"name", name}, {"full", name}, {"points", points}});
  }
  json page_section = section(
      "burn", "Burn-in",
      "Each case of a host over all of its devices and turns: wrong runs, the exact Poisson limit "
      "of their rate at 95 %, and the drift, which is the time of a run in the second half over "
      "that in the first, with its 95 % interval. Above 0 it became slower." +
          left_out,
      json::array({table_json("", burn_lines(totals))}));
  page_section["notes"] = burn_faults(totals);
  page_section["curves"] = curves;
  return page_section;
}

json link_tables(const Results& results, const SeriesList& all) {
  json tables = json::array();
  for (const Matrix& matrix : make_matrices(results, all)) tables.push_back(matrix_json(matrix));
  if (const assay::Table bisections = make_bisection_table(all); !bisections.lines.empty())
    tables.push_back(table_json("bisections", bisections));
  return tables;
}

}  // namespace

json node_evidence(const Results& results, const SeriesList& all) {
  json sections = json::array();
  assay::Table devices = make_device_table(results, all);
  const std::string left_out = cut(devices.lines, "errors");
  if (!devices.lines.empty())
    sections.push_back(section(
        "devices", "Health of devices",
        "The devices' own reports: errors and corrected errors since the system began to count, "
        "and "
        "the states of links and spare parts over all rows. A row during which an error was "
        "counted has failed." +
            left_out,
        json::array({table_json("", devices)})));
  if (json burn = burn_section(results, all); !burn.is_null()) sections.push_back(std::move(burn));
  return sections;
}

json make_evidence_part(const Results& results, const SeriesList& all, const FleetSummary& fleet) {
  json sections = fleet.rows.empty() ? node_evidence(results, all) : fleet.evidence;
  if (json tables = link_tables(results, all); !tables.empty())
    sections.push_back(section(
        "links", "Links",
        "Copies between places of memory, and messages between nodes. A colour shows a number over "
        "the median of its map, above 1 it is faster; the table below a map has all numbers.",
        std::move(tables)));
  if (const assay::Table storage = make_storage_table(results, all); !storage.lines.empty())
    sections.push_back(
        section("storage", "Storage",
                "Operations of the slowest rank, and the bytes that storage, or the block device, "
                "has moved over those expected: a cache that answers in their place moves none.",
                json::array({table_json("", storage)})));
  std::vector<const Row*> rows;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      if (row.blame) rows.push_back(&row);
  if (!rows.empty())
    sections.push_back(
        section("blame", "Blame",
                "For whom the other ranks of a job waited, what it did before it came late, and "
                "the part of the time that it cost.",
                json::array({table_json("", make_blame_table(rows))})));
  return sections.empty() ? json() : sections;
}

}  // namespace assay::report
