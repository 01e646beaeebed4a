#include <cstdint>
#include <nlohmann/json.hpp>

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
  for (const Series& series : select_series(results, options))
    for (const Row& row : series.rows)
      if (row.blame) blamed.push_back({results[series.result].name, row});
  if (blamed.empty())
    throw InputError(
        "--blame: no chosen row records for which rank the others waited (rows of several ranks of "
        "assay-collectives and assay-train do). Leave --blame out.");
  return blamed;
}

}  // namespace

std::string render_blame(const Results& results, const TableOptions& options) {
  const std::vector<BlameRow> blamed = rows_with_blame(results, options);
  std::vector<const Row*> rows;
  for (const BlameRow& item : blamed) rows.push_back(&item.row);
  Page page(options.markdown, options.latex);
  page.table(make_blame_table(rows),
             {"cost: part of the time that the others waited for it; of a link the most that it "
              "can have cost (docs/links.md)."});
  return page.text();
}

RecordList make_blame_records(const Results& results, const TableOptions& options) {
  constexpr std::pair<const char*, double Blame::Rank::*> measured[] = {
      {"cost_s", &Blame::Rank::cost_s},       {"low_s", &Blame::Rank::low_s},
      {"high_s", &Blame::Rank::high_s},       {"input_s", &Blame::Rank::input_s},
      {"compute_s", &Blame::Rank::compute_s}, {"network_s", &Blame::Rank::network_s},
      {"wait_s", &Blame::Rank::wait_s},       {"processor_s", &Blame::Rank::processor_s}};
  std::vector<std::string> fields{"result", "id",    "launch",  "rank",
                                  "host",   "place", "seconds", "last"};
  for (const auto& [name, member] : measured) fields.emplace_back(name);
  fields.emplace_back("ready_s");
  std::vector<nlohmann::json> records;
  for (const auto& [result, row] : rows_with_blame(results, options)) {
    for (const Blame::Rank& rank : row.blame->ranks) {
      nlohmann::json& record = records.emplace_back();
      record = {{"result", result},
                {"id", row.id},
                {"launch", row.launch},
                {"rank", rank.rank},
                {"host", rank.host},
                {"place", rank.place},
                {"seconds", row.blame->seconds},
                {"last", static_cast<std::int64_t>(rank.last)},
                {"ready_s", number_or_null(rank.ready_s)}};
      for (const auto& [name, member] : measured) record[name] = rank.*member;
    }
  }
  return {fields, records};
}

}  // namespace assay
