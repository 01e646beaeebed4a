#include "analysis/table/scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/scaling_curves.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/text_table.hpp"

namespace assay {

namespace {

std::vector<ScalingCurve> curves_over_ranks(const std::vector<NamedResult>& results,
                                            const std::vector<Series>& all) {
  std::vector<ScalingCurve> found;
  for (const std::vector<ScalingCurve>& curves : scaling_curves(results, all))
    for (const ScalingCurve& curve : curves)
      if (curve.over == "ranks") found.push_back(curve);
  return found;
}

}  // namespace

std::string scaling_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                          bool markdown) {
  const std::vector<ScalingCurve> curves = curves_over_ranks(results, all);
  if (curves.empty()) return "";
  std::vector<Series> rows;
  for (const ScalingCurve& curve : curves)
    for (const ScalingPoint& point : curve.points) rows.push_back(all[point.series]);
  const std::vector<std::string> axes = axes_of(rows, "").shown;
  const bool several = several_benchmarks(rows);
  std::vector<Column> columns{{"scaling"}};
  if (results.size() > 1) columns.push_back({"result"});
  if (several) columns.push_back({"benchmark"});
  columns.push_back({"problem"});
  for (const std::string& axis : axes) columns.push_back({axis});
  for (const char* title : {"time", "speedup", "efficiency"}) columns.push_back({title, true});
  std::vector<Line> lines;
  for (const ScalingCurve& curve : curves)
    for (const ScalingPoint& point : curve.points) {
      const Series& series = all[point.series];
      const std::string mark = mark_of(series, all[curve.points.front().series]);
      std::vector<std::string>& cells = lines.emplace_back().cells;
      cells.emplace_back(curve.weak ? "weak" : "strong");
      if (results.size() > 1) cells.push_back(results[series.result].name);
      if (several) cells.push_back(text_of(series.first(), "benchmark"));
      cells.push_back(series.problem());
      for (const std::string& axis : axes) cells.push_back(axis_text(series, axis));
      cells.push_back(marked_quantity(series));
      cells.push_back(fmt::format("{:.2f}{}", point.speedup, mark));
      cells.push_back(fmt::format("{:.1f} %{}", 100 * point.efficiency, mark));
    }
  const std::string note =
      "speedup: work per time, over that with the fewest ranks (strong: the work of all ranks is "
      "constant, weak: that of each rank). efficiency: speedup / ratio of the numbers of ranks.";
  return "\n" + (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) +
         "\n" + (markdown ? "- " + markdown_text(note) : wrapped(note, table_width)) + "\n";
}

}  // namespace assay
