#include "analysis/table/rate_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/table/cells.hpp"
#include "core/base/units.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

std::string rate_cell(const Series& series) {
  const json& row = series.first();
  const json &problem = row.at("problem"), &rates = row.at("rates");
  const std::string mark =
      std::string(series.published ? "*" : "") + (any_shared(series) ? "!" : "");
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
    return human_seconds(1 / rates.at("loads_per_s").get<double>()) + "/load" + mark;
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
      "of ceiling: least time that peak arithmetic and the memory or cache that holds the data "
      "allow "
      "(measured around the row by assay-stream) / time, and which of them bounds.");
  return fmt::format("{:.3g} % {}{}", 100 * median(fractions), bound_by,
                     (exceeded ? "^" : "") + std::string(any_shared(series) ? "!" : ""));
}

namespace {

/// The ceilings of one machine's rows, by what they are of: "fp32 with 2 threads", "fp16 on gpu".
using Measured = std::map<std::string, double>;

void collect(const json& row, Measured& flops, Measured& bytes) {
  const json& ceiling = row.at("ceiling");
  const json& parameters = row.at("parameters");
  const std::string device = parameters.value("device", "cpu");
  const std::string with = device == "cpu"
                               ? fmt::format(" with {} threads", text_of(parameters, "threads"))
                               : " on " + device;
  const auto add = [](Measured& all, const std::string& what, const json& rate) {
    if (rate.is_number()) all[what] = std::max(all[what], rate.get<double>());
  };
  add(flops, text_of(parameters, "precision") + with, ceiling.at("flops_per_s"));
  add(bytes, ceiling.value("level", "memory") + with, ceiling.at("bytes_per_s"));
}

std::string listed(const Measured& all, const char* unit) {
  std::string text;
  for (const auto& [what, rate] : all)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, human(rate, unit));
  return text;
}

std::string promised(const json& peaks) {
  if (!peaks.is_object()) return "unknown";
  Measured known;
  for (const auto& [precision, rate] : peaks.at("flops_per_s").items())
    if (rate.is_number()) known[precision] = rate;
  const json reasons = peaks.value("reasons", json::object());
  const auto why = [&](const char* what) {
    return fmt::format("unknown ({})", text_of(reasons, what));
  };
  const json memory = peaks.at("bytes_per_s");
  return fmt::format("arithmetic {}, memory {}",
                     known.empty()
                         ? why("flops_per_s")
                         : fmt::format("{} ({})", listed(known, "FLOP/s"), text_of(peaks, "basis")),
                     memory.is_number() ? human(memory, "B/s") : why("bytes_per_s"));
}

}  // namespace

void note_ceilings(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                   Legend& legend) {
  struct Machine {
    json peaks;
    Measured flops, bytes;
  };
  std::map<std::pair<std::size_t, std::string>, Machine> machines;
  for (const Series& series : all)
    for (const json& row : series.rows) {
      if (series.status != "ok" || !row.contains("ceiling") || !row["ceiling"].is_object())
        continue;
      Machine& machine = machines[{series.result, series.environment}];
      collect(row, machine.flops, machine.bytes);
      const json& environments = results[series.result].result.at("environments");
      if (const std::size_t place = row.at("environment"); place < environments.size())
        machine.peaks = environments[place].at("hardware").value("peaks", json());
    }
  for (const auto& [place, machine] : machines) {
    const std::string& name = results[place.first].name;
    std::vector<std::string> parts;
    if (!machine.flops.empty()) parts.push_back(listed(machine.flops, "FLOP/s"));
    if (!machine.bytes.empty()) parts.push_back(listed(machine.bytes, "B/s"));
    legend.add(fmt::format("{}ceilings, measured: {}; theoretical: {}.",
                           name.empty() ? "" : name + ": ", join(parts, "; "),
                           promised(machine.peaks)));
  }
}

bool has_ceiling(const Series& series) {
  return series.status == "ok" && series.first().value("ceiling", json()).is_object();
}

}  // namespace assay
