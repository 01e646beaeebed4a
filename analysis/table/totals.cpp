#include "analysis/table/totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/table/axes.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// A total on its way.
struct Sum {
  Total total;
  int have = 0;                    ///< repeats of the rows that have a time
  std::vector<std::string> wrong;  ///< rows that are not ok
};

void add(Sum& sum, const Series& series, const Part& part) {
  if (series.status != "ok") {
    sum.wrong.push_back(fmt::format("{} is {}", series.problem(), series.status));
    return;
  }
  const json flops = series.first().at("problem").value("flops", json());
  sum.have += part.repeat;
  sum.total.seconds += part.repeat * series.median;
  sum.total.flops += part.repeat * (flops.is_number() ? flops.get<double>() : 0);
  sum.total.mark = worse_mark(sum.total.mark, mark_of(series));
}

std::string why_not(const Sum& sum) {
  if (!sum.wrong.empty())
    return sum.wrong.front() + (sum.wrong.size() > 1
                                    ? fmt::format(", and {} more are not ok", sum.wrong.size() - 1)
                                    : "");
  if (sum.have != sum.total.part.of)
    return fmt::format("{} of {} are here", sum.have, sum.total.part.of);
  return "";
}

}  // namespace

std::vector<Total> totals_of(const std::vector<Series>& all) {
  std::vector<Sum> sums;
  std::map<std::tuple<std::size_t, std::string, std::string, std::string>, std::size_t> places;
  for (const Series& series : all)
    for (const Part& part : series.first().value("part_of", std::vector<Part>{})) {
      const std::string settings = series.first().at("parameters").dump();
      const auto [place, fresh] =
          places.try_emplace({series.result, series.environment, part.list, settings}, sums.size());
      if (fresh) {
        sums.emplace_back().total.part = part;
        sums.back().total.any = &series;
      }
      add(sums[place->second], series, part);
    }
  std::vector<Total> totals;
  for (Sum& sum : sums) {
    sum.total.why = why_not(sum);
    totals.push_back(std::move(sum.total));
  }
  return totals;
}

std::string totals_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                         bool withheld, bool markdown) {
  std::vector<Total> totals = totals_of(all);
  if (!withheld) std::erase_if(totals, [](const Total& total) { return !total.why.empty(); });
  if (totals.empty()) return "";
  std::vector<Series> rows;  // one of each
  for (const Total& total : totals) rows.push_back(*total.any);
  const std::vector<std::string> axes = axes_of(rows, "").shown;
  const bool several_results = results.size() > 1;
  std::vector<Column> columns;
  if (several_results) columns.push_back({"result"});
  columns.push_back({"total"});
  for (const std::string& axis : axes) columns.push_back({axis});
  columns.insert(columns.end(), {{"time", true}, {"rate", true}});
  std::vector<Line> lines;
  for (const Total& total : totals) {
    Line& line = lines.emplace_back();
    if (several_results) line.cells.push_back(results[total.any->result].name);
    line.cells.push_back(fmt::format("{}: {}", total.part.list, total.part.whole));
    for (const std::string& axis : axes) line.cells.push_back(axis_text(*total.any, axis));
    if (!total.why.empty()) {
      line.note = "withheld: " + total.why;
      continue;
    }
    line.cells.push_back(human_seconds(total.seconds) + total.mark);
    line.cells.push_back(total.flops > 0 && total.seconds > 0
                             ? human(total.flops / total.seconds, "FLOP/s") + total.mark
                             : "-");
  }
  const std::string legend =
      "total: the sum of the times, each multiplied by the occurrences of its problem in the "
      "whole; withheld if a problem has no time.";
  return (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) + "\n" +
         (markdown ? "- " + markdown_text(legend) : wrapped(legend, table_width)) + "\n\n";
}

}  // namespace assay
