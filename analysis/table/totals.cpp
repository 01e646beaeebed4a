#include "analysis/table/totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/table/axes.hpp"
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

bool add_totals(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
                bool withheld) {
  std::vector<Total> totals = totals_of(all);
  if (!withheld) std::erase_if(totals, [](const Total& total) { return !total.why.empty(); });
  if (totals.empty()) return false;
  std::vector<Series> rows;  // one of each
  for (const Total& total : totals) rows.push_back(*total.any);
  Table table{{}, std::vector<Line>(totals.size())};
  if (results.size() > 1)
    table.add({"result"}, [&](std::size_t i) { return results[rows[i].result].name; });
  table.add({"total"}, [&](std::size_t i) {
    return fmt::format("{}: {}", totals[i].part.list, totals[i].part.whole);
  });
  add_axes(table, rows, axes_of(rows, "").shown);
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (!totals[i].why.empty()) table.lines[i].note = "withheld: " + totals[i].why;
  table.add({"time", true},
            [&](std::size_t i) { return human_seconds(totals[i].seconds) + totals[i].mark; });
  table.add({"rate", true}, [&](std::size_t i) {
    const Total& total = totals[i];
    return total.flops > 0 && total.seconds > 0
               ? human(total.flops / total.seconds, "FLOP/s") + total.mark
               : "-";
  });
  page.blank();
  page.table(
      table,
      {"total: the sum of the times, each multiplied by the occurrences of its problem in the "
       "whole; withheld if a problem has no time."});
  page.blank();
  return true;
}

}  // namespace assay
