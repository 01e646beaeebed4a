#include "analysis/table/curve_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/curves.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/text_table.hpp"
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

std::string notes(const std::vector<Curve>& curves, bool markdown) {
  std::vector<std::string> lines{
      "time = alpha + beta * bytes, by least squares of the relative residuals (R2 also refers to "
      "these)."};
  const auto any = [&](auto holds) { return std::any_of(curves.begin(), curves.end(), holds); };
  if (any([](const Curve& curve) { return curve.fits() && curve.fit->held_out; }))
    lines.emplace_back("held-out: the largest error for a size that the fit did not see.");
  if (any([](const Curve& curve) { return curve.rivals > 0 && curve.comparable; }))
    lines.emplace_back(
        "least time: the sizes for which this line is below those of the other algorithms; beyond "
        "the measured sizes it is an extrapolation.");
  if (any([](const Curve& curve) { return curve.fit && !curve.fits(); }))
    lines.push_back(fmt::format("No line is shown for R2 below {}.", least_r_squared));
  if (any([](const Curve& curve) { return curve.rivals > 0 && curve.fit && !curve.fits(); }))
    lines.push_back(fmt::format(
        "least time is withheld where the R2 of an algorithm in the comparison is below {}.",
        least_r_squared));
  // Each reason once.
  std::set<std::string> reasons;
  for (const Curve& curve : curves)
    if (curve.withholds && reasons.insert(curve.reason).second)
      lines.push_back(fmt::format(
          "least time is withheld where an algorithm in the comparison has no line: {}.",
          curve.reason));
  std::string text;
  for (const std::string& line : lines)
    text += (markdown ? "- " + markdown_text(line) : wrapped(line, table_width)) + "\n";
  return text;
}

}  // namespace

std::string curve_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        bool markdown) {
  std::vector<Curve> curves = curves_of(results, all);
  std::erase_if(curves, [](const Curve& curve) { return !curve.fit && !curve.withholds; });
  if (curves.empty()) return "";
  std::vector<Series> firsts;
  for (const Curve& curve : curves) firsts.push_back(all[curve.series.front()]);
  std::vector<std::string> axes = axes_of(firsts, "").shown;
  std::erase(axes, "bytes");
  std::vector<Column> columns;
  if (results.size() > 1) columns.push_back({"result"});
  const bool several = several_benchmarks(firsts);
  if (several) columns.push_back({"benchmark"});
  for (const std::string& axis : axes) columns.push_back({axis});
  for (const char* title : {"sizes", "alpha", "1/beta", "R2", "held-out", "least time"})
    columns.push_back({title, true});
  std::vector<Line> lines;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<std::string>& cells = lines.emplace_back().cells;
    const Series& first = firsts[i];
    if (results.size() > 1) cells.push_back(results[first.result].name);
    if (several) cells.push_back(text_of(first.first(), "benchmark"));
    for (const std::string& axis : axes) cells.push_back(axis_text(first, axis));
    cells.push_back(std::to_string(curves[i].bytes.size()));
    for (const std::string& cell : fit_cells(curves[i], mark_of_all(curves[i], all)))
      cells.push_back(cell);
    cells.push_back(least_cell(curves[i]));
  }
  return "\n" + (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) +
         "\n" + notes(curves, markdown);
}

}  // namespace assay
