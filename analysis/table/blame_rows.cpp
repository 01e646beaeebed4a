#include <fmt/format.h>

#include <utility>

#include "analysis/blame_table.hpp"
#include "analysis/page.hpp"
#include "analysis/series.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

struct BlameRow {
  std::string result;
  Row row;
};

std::vector<BlameRow> rows_with_blame(const Results& results, const TableOptions& options) {
  std::vector<BlameRow> blamed;
  for (const Series& series : selected(results, options))
    for (const Row& row : series.rows)
      if (row.blame) blamed.push_back({results[series.result].name, row});
  if (blamed.empty())
    throw InputError(
        "--blame: no chosen row tells for whom its ranks waited (rows of several ranks of "
        "assay-collectives and assay-train do). Leave --blame out.");
  return blamed;
}

}  // namespace

std::string blame_text(const Results& results, const TableOptions& options) {
  const std::vector<BlameRow> blamed = rows_with_blame(results, options);
  std::vector<const Row*> rows;
  for (const BlameRow& item : blamed) rows.push_back(&item.row);
  Page page(options.markdown, options.latex);
  page.table(blame_table(rows),
             {"cost: part of the time that the others waited for it; of a link the most that it "
              "can have cost (docs/links.md)."});
  return page.text();
}

std::string blame_csv(const Results& results, const TableOptions& options) {
  constexpr std::pair<const char*, double Blame::Rank::*> measured[] = {
      {"cost_s", &Blame::Rank::cost_s},       {"low_s", &Blame::Rank::low_s},
      {"high_s", &Blame::Rank::high_s},       {"input_s", &Blame::Rank::input_s},
      {"compute_s", &Blame::Rank::compute_s}, {"network_s", &Blame::Rank::network_s},
      {"wait_s", &Blame::Rank::wait_s},       {"processor_s", &Blame::Rank::processor_s}};
  Table table{titled({"result", "id", "launch", "rank", "host", "place", "seconds", "last"})};
  for (const auto& [name, member] : measured) table.columns.push_back({name});
  table.columns.push_back({"ready_s"});
  for (const auto& [result, row] : rows_with_blame(results, options))
    for (const Blame::Rank& rank : row.blame->ranks) {
      std::vector<std::string>& cells = table.lines.emplace_back().cells;
      cells = {result,    row.id,     std::to_string(row.launch), std::to_string(rank.rank),
               rank.host, rank.place, digits(row.blame->seconds), fmt::format("{:.0f}", rank.last)};
      for (const auto& [name, member] : measured) cells.push_back(digits(rank.*member));
      cells.push_back(digits(rank.ready_s));
    }
  return csv_table(table);
}

}  // namespace assay
