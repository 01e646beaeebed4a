#include "analysis/table/rate_cells.hpp"

#include <fmt/format.h>

#include <vector>

#include "analysis/table/cells.hpp"
#include "analysis/units.hpp"
#include "core/statistics.hpp"

namespace assay {

using nlohmann::json;

std::string rate_cell(const Series& series) {
  const json& row = series.first();
  const json &problem = row.at("problem"), &rates = row.at("rates");
  const std::string mark = series.published ? "*" : "";
  if (series.status != "ok") return marked_quantity(series);  // a published rate without a time
  if (!(series.median > 0)) return "-";
  const auto amount = [&](const char* name) {
    const json value = problem.value(name, json());
    return value.is_number() ? value.get<double>() : 0;
  };
  if (rates.contains("busbw"))
    return human(amount("bytes") * amount("busbw_factor") / series.median, "B/s") + " bus" + mark;
  const double flops = amount("flops"), bytes = amount("bytes");
  if (flops > 0 && 2 * flops >= bytes) return human(flops / series.median, "FLOP/s") + mark;
  if (bytes > 0) return human(bytes / series.median, "B/s") + mark;
  if (rates.contains("loads_per_s"))
    return human_seconds(1 / rates.at("loads_per_s").get<double>()) + "/load";
  return "-";
}

std::string ceiling_cell(const Series& series, Legend& legend) {
  std::vector<double> fractions;
  std::string bound_by;
  bool exceeded = false;
  for (const json& row : series.rows) {
    const json ceiling = row.value("ceiling", json());
    if (!ceiling.is_object() || !ceiling.at("fraction").is_number()) continue;
    fractions.push_back(ceiling.at("fraction"));
    bound_by = text_of(ceiling, "bound_by");
    exceeded |= ceiling.value("exceeded", false);
  }
  if (fractions.empty()) return "-";
  if (exceeded)
    legend.add(
        "^: faster than the ceiling by more than 3 %, which cannot be: the machine was slower when "
        "the ceiling was measured, or one of the two is wrong.");
  legend.add(
      "of ceiling: least time that peak arithmetic and memory allow (measured around the row by "
      "assay-stream) / time, and which of the two bounds.");
  return fmt::format("{:.3g} % {}{}", 100 * median(fractions), bound_by, exceeded ? "^" : "");
}

bool has_ceiling(const Series& series) {
  return series.status == "ok" && series.first().value("ceiling", json()).is_object();
}

}  // namespace assay
