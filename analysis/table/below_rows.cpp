#include "analysis/table/below_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/curves.hpp"
#include "analysis/table/cells.hpp"
#include "core/base/units.hpp"

namespace assay {

std::vector<Total> make_totals(const SeriesList& all) {
  struct Sum {
    Total total;
    int have = 0;   ///< repeats of the rows that have a time
    Texts wrong{};  ///< rows that are not ok
  };
  std::vector<Sum> sums;
  using Parameters = std::map<std::string, nlohmann::json>;
  std::map<std::tuple<std::size_t, std::string, std::string, Parameters>, std::size_t> places;
  for (const Series& series : all)
    for (const ListShare& part : series.first().part_of) {
      const auto [place, fresh] = places.try_emplace(
          {series.result, series.environment, part.list, series.first().parameters}, sums.size());
      if (fresh) sums.push_back({{part, &series}});
      Sum& sum = sums[place->second];
      if (series.status != "ok") {
        sum.wrong.push_back(fmt::format("{} is {}", series.problem(), series.status));
        continue;
      }
      sum.have += part.repeat;
      sum.total.seconds += part.repeat * series.median;
      sum.total.flops += part.repeat * series.first().problem.flops.value_or(0);
      sum.total.mark = worse_mark(sum.total.mark, choose_mark(series));
    }
  std::vector<Total> totals;
  for (Sum& sum : sums) {
    const std::size_t wrong = sum.wrong.size();
    if (wrong > 0)
      sum.total.why =
          sum.wrong.front() + (wrong > 1 ? fmt::format(", and {} more are not ok", wrong - 1) : "");
    else if (sum.have != sum.total.part.total)
      sum.total.why = fmt::format("{} of {} are here", sum.have, sum.total.part.total);
    totals.push_back(std::move(sum.total));
  }
  return totals;
}

bool add_totals(Page& page, const Results& results, const SeriesList& all, bool withheld) {
  std::vector<Total> totals = make_totals(all);
  if (!withheld) std::erase_if(totals, [](const Total& total) { return !total.why.empty(); });
  if (totals.empty()) return false;
  SeriesList rows;  // one of each
  for (const Total& total : totals) rows.push_back(*total.any);
  Table table{{}, std::vector<Line>(totals.size())};
  if (results.size() > 1)
    table.add({"result"}, [&](std::size_t i) { return results[rows[i].result].name; });
  table.add({"total"}, [&](std::size_t i) {
    return fmt::format("{}: {}", totals[i].part.list, totals[i].part.whole);
  });
  add_axes(table, rows, find_axes(rows, "").shown);
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (!totals[i].why.empty()) table.lines[i].note = "withheld: " + totals[i].why;
  table.add({"time", true},
            [&](std::size_t i) { return format_seconds(totals[i].seconds) + totals[i].mark; });
  table.add({"rate", true}, [&](std::size_t i) {
    const Total& total = totals[i];
    return total.flops > 0 && total.seconds > 0
               ? format_with_unit(total.flops / total.seconds, "FLOP/s") + total.mark
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

namespace {

Legend curves_legend(const std::vector<Curve>& curves) {
  Legend legend;
  legend.add(
      "time = alpha + beta * bytes, by least squares of the relative residuals (R2 also refers to "
      "these).");
  const auto add_if_any = [&](auto holds, const std::string& line) {
    if (std::ranges::any_of(curves, holds)) legend.add(line);
  };
  add_if_any([](const Curve& curve) { return curve.fits() && curve.fit->held_out; },
             "held-out: the largest error for a size that the fit did not see.");
  add_if_any(
      [](const Curve& curve) { return curve.rivals > 0 && curve.comparable; },
      "least time: the sizes for which this line is below those of the other algorithms; beyond "
      "the measured sizes it is an extrapolation.");
  add_if_any([](const Curve& curve) { return curve.fit && !curve.fits(); },
             fmt::format("No line is shown for R2 below {}.", least_r_squared));
  add_if_any(
      [](const Curve& curve) { return curve.rivals > 0 && curve.fit && !curve.fits(); },
      fmt::format(
          "least time is withheld where the R2 of an algorithm in the comparison is below {}.",
          least_r_squared));
  for (const Curve& curve : curves)
    if (curve.withholds)
      legend.add(fmt::format(
          "least time is withheld where an algorithm in the comparison has no line: {}.",
          curve.reason));
  return legend;
}

}  // namespace

void add_curves(Page& page, const Results& results, const SeriesList& all) {
  std::vector<Curve> curves = fit_curves(results, all);
  std::erase_if(curves, [](const Curve& curve) { return !curve.fit && !curve.withholds; });
  if (curves.empty()) return;
  SeriesList firsts;
  Texts marks(curves.size());
  for (std::size_t i = 0; i < curves.size(); ++i) {
    firsts.push_back(all[curves[i].series.front()]);
    for (const std::size_t place : curves[i].series)
      marks[i] = worse_mark(marks[i], choose_mark(all[place]));
  }
  Texts axes = find_axes(firsts, "").shown;
  std::erase(axes, "bytes");
  Table table{{}, std::vector<Line>(curves.size())};
  add_origin(table, results, firsts);
  add_axes(table, firsts, axes);
  table.add({"sizes", true, "", 2},
            [&](std::size_t i) { return std::to_string(curves[i].bytes.size()); });
  // A poor line shows only its R2.
  const auto add = [&](const char* title, auto cell) {
    table.add({title, true}, [&](std::size_t i) -> std::string {
      return curves[i].fits() ? cell(*curves[i].fit, marks[i]) : "-";
    });
  };
  // From the sizes, a latency below zero cannot be distinguished from none.
  add("alpha", [](const AlphaBeta& fit, const std::string& mark) {
    return fit.alpha > 0 ? format_seconds(fit.alpha) + mark : "none seen";
  });
  add("1/beta", [](const AlphaBeta& fit, const std::string& mark) {
    return fit.beta > 0 ? format_with_unit(1 / fit.beta, "B/s") + mark : "-";
  });
  table.add({"R2", true}, [&](std::size_t i) {
    return curves[i].fit ? fmt::format("{:.4f}", curves[i].fit->r_squared) : "-";
  });
  add("held-out", [](const AlphaBeta& fit, const std::string&) {
    return fit.held_out ? fmt::format("{:.1f} %", 100 * *fit.held_out) : "-";
  });
  table.columns.back().spare = 1;
  table.add({"least time", true}, [&](std::size_t i) { return format_least(curves[i]); });
  page.blank();
  page.table(table, curves_legend(curves).lines());
}

void add_scaling(Page& page, const Results& results, const SeriesList& all) {
  struct Entry {
    bool weak;
    ScalingPoint point;
    std::string mark;
  };
  std::vector<Entry> entries;
  SeriesList rows;
  for (const std::vector<ScalingCurve>& curves : make_scaling_curves(results, all))
    for (const ScalingCurve& curve : curves)
      for (const ScalingPoint& point : curve.points) {
        if (curve.over != "ranks") continue;
        rows.push_back(all[point.series]);
        entries.push_back(
            {curve.weak, point, choose_mark(rows.back(), all[curve.points.front().series])});
      }
  if (entries.empty()) return;
  Table table{{}, std::vector<Line>(entries.size())};
  table.add({"scaling"}, [&](std::size_t i) { return entries[i].weak ? "weak" : "strong"; });
  add_origin(table, results, rows);
  table.add({"problem"}, [&](std::size_t i) { return rows[i].problem(); });
  add_axes(table, rows, find_axes(rows, "").shown);
  table.add({"time", true}, [&](std::size_t i) { return format_value_cell(rows[i]); });
  table.add({"speedup", true}, [&](std::size_t i) {
    return fmt::format("{:.2f}{}", entries[i].point.speedup, entries[i].mark);
  });
  table.add({"efficiency", true}, [&](std::size_t i) {
    return fmt::format("{:.1f} %{}", 100 * entries[i].point.efficiency, entries[i].mark);
  });
  page.blank();
  page.table(
      table,
      {"speedup: work per time, over that with the fewest ranks (strong: the work of all ranks is "
       "constant, weak: that of each rank). efficiency: speedup / ratio of the numbers of ranks."});
}

}  // namespace assay
