#include "analysis/table/curve_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "analysis/curves.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"

namespace assay {

namespace {

std::string least_cell(const Curve& curve) {
  if (curve.rivals == 0) return "-";
  if (!curve.least) return "never";
  const auto& [from, to] = *curve.least;
  if (!(from > 0)) return std::isinf(to) ? "always" : "below " + human(to, "B");
  return std::isinf(to) ? "from " + human(from, "B") : human(from, "B") + " .. " + human(to, "B");
}

}  // namespace

std::string curve_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        bool markdown) {
  const std::vector<Column> columns{{"curve"},           {"sizes", true}, {"alpha", true},
                                    {"1/beta", true},    {"R2", true},    {"held-out", true},
                                    {"least time", true}};
  std::vector<Line> lines;
  for (const Curve& curve : curves_of(results, all)) {
    if (!curve.fit) continue;
    const AlphaBeta& fit = *curve.fit;
    lines.push_back(
        {{curve.name, std::to_string(curve.bytes.size()),
          // No latency that the sizes can tell from none.
          fit.alpha > 0 ? human_seconds(fit.alpha) : "none seen",
          fit.beta > 0 ? human(1 / fit.beta, "B/s") : "-", fmt::format("{:.4f}", fit.r_squared),
          fit.held_out ? fmt::format("{:.1f} %", 100 * *fit.held_out) : "-", least_cell(curve)},
         ""});
  }
  if (lines.empty()) return "";
  return "\n" + (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) +
         "\ntime = alpha + beta * bytes, least squares of the relative residuals (R2 too). "
         "held-out: "
         "the largest error for a size\nthat the fit did not see. least time: the sizes for which "
         "this line is below those of the other algorithms\n(beyond the measured sizes an "
         "extrapolation).\n";
}

}  // namespace assay
