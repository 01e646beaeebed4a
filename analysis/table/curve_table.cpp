#include "analysis/table/curve_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/curves.hpp"
#include "analysis/scaling_curves.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "core/base/units.hpp"

namespace assay {

namespace {

std::string least_cell(const Curve& curve) {
  if (curve.rivals == 0) return "-";
  if (!curve.comparable) return "withheld";
  if (!curve.least) return "never";
  const auto& [from, to] = *curve.least;
  if (!(from > 0)) return std::isinf(to) ? "always" : "below " + human(to, "B");
  return std::isinf(to) ? "from " + human(from, "B") : human(from, "B") + " .. " + human(to, "B");
}

/// alpha, 1/beta, R2 and the held-out error; of a poor line its R2 alone.
std::vector<std::string> fit_cells(const Curve& curve, const std::string& mark) {
  if (!curve.fit) return {"-", "-", "-", "-"};
  const AlphaBeta& fit = *curve.fit;
  const std::string r_squared = fmt::format("{:.4f}", fit.r_squared);
  if (!curve.fits()) return {"-", "-", r_squared, "-"};
  // The sizes cannot tell a latency below zero from none.
  return {fit.alpha > 0 ? human_seconds(fit.alpha) + mark : "none seen",
          fit.beta > 0 ? human(1 / fit.beta, "B/s") + mark : "-", r_squared,
          fit.held_out ? fmt::format("{:.1f} %", 100 * *fit.held_out) : "-"};
}

std::string mark_of_all(const Curve& curve, const std::vector<Series>& all) {
  std::string mark;
  for (const std::size_t place : curve.series) mark = worse_mark(mark, mark_of(all[place]));
  return mark;
}

Legend legend_of(const std::vector<Curve>& curves) {
  Legend legend;
  legend.add(
      "time = alpha + beta * bytes, by least squares of the relative residuals (R2 also refers to "
      "these).");
  const auto any = [&](auto holds) { return std::any_of(curves.begin(), curves.end(), holds); };
  if (any([](const Curve& curve) { return curve.fits() && curve.fit->held_out; }))
    legend.add("held-out: the largest error for a size that the fit did not see.");
  if (any([](const Curve& curve) { return curve.rivals > 0 && curve.comparable; }))
    legend.add(
        "least time: the sizes for which this line is below those of the other algorithms; beyond "
        "the measured sizes it is an extrapolation.");
  if (any([](const Curve& curve) { return curve.fit && !curve.fits(); }))
    legend.add(fmt::format("No line is shown for R2 below {}.", least_r_squared));
  if (any([](const Curve& curve) { return curve.rivals > 0 && curve.fit && !curve.fits(); }))
    legend.add(fmt::format(
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

void add_curves(Page& page, const std::vector<NamedResult>& results,
                const std::vector<Series>& all) {
  std::vector<Curve> curves = curves_of(results, all);
  std::erase_if(curves, [](const Curve& curve) { return !curve.fit && !curve.withholds; });
  if (curves.empty()) return;
  std::vector<Series> firsts;
  for (const Curve& curve : curves) firsts.push_back(all[curve.series.front()]);
  std::vector<std::string> axes = axes_of(firsts, "").shown;
  std::erase(axes, "bytes");
  Table table{{}, std::vector<Line>(curves.size())};
  add_origin(table, results, firsts);
  add_axes(table, firsts, axes);
  table.add({"sizes", true}, [&](std::size_t i) { return std::to_string(curves[i].bytes.size()); });
  for (const char* title : {"alpha", "1/beta", "R2", "held-out"})
    table.columns.push_back({title, true});
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (std::string& cell : fit_cells(curves[i], mark_of_all(curves[i], all)))
      table.lines[i].cells.push_back(std::move(cell));
  table.add({"least time", true}, [&](std::size_t i) { return least_cell(curves[i]); });
  page.blank();
  page.table(table, legend_of(curves).lines());
}

void add_scaling(Page& page, const std::vector<NamedResult>& results,
                 const std::vector<Series>& all) {
  const std::vector<std::vector<ScalingCurve>> groups = scaling_curves(results, all);
  struct Point {
    const ScalingCurve* curve;
    const ScalingPoint* point;
    std::string mark;
  };
  std::vector<Point> points;
  std::vector<Series> rows;
  for (const std::vector<ScalingCurve>& curves : groups)
    for (const ScalingCurve& curve : curves)
      for (const ScalingPoint& point : curve.points) {
        if (curve.over != "ranks") continue;
        rows.push_back(all[point.series]);
        points.push_back({&curve, &point, mark_of(rows.back(), all[curve.points.front().series])});
      }
  if (points.empty()) return;
  Table table{{}, std::vector<Line>(points.size())};
  table.add({"scaling"}, [&](std::size_t i) { return points[i].curve->weak ? "weak" : "strong"; });
  add_origin(table, results, rows);
  table.add({"problem"}, [&](std::size_t i) { return rows[i].problem(); });
  add_axes(table, rows, axes_of(rows, "").shown);
  table.add({"time", true}, [&](std::size_t i) { return marked_quantity(rows[i]); });
  table.add({"speedup", true}, [&](std::size_t i) {
    return fmt::format("{:.2f}{}", points[i].point->speedup, points[i].mark);
  });
  table.add({"efficiency", true}, [&](std::size_t i) {
    return fmt::format("{:.1f} %{}", 100 * points[i].point->efficiency, points[i].mark);
  });
  page.blank();
  page.table(
      table,
      {"speedup: work per time, over that with the fewest ranks (strong: the work of all ranks is "
       "constant, weak: that of each rank). efficiency: speedup / ratio of the numbers of ranks."});
}

}  // namespace assay
