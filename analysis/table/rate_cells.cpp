#include "analysis/table/rate_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "analysis/table/cells.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace {

struct MainRate {
  std::string name;
  double value = 0;
};

/// A rate over the series' median; of a published time without it, from the amount of work.
double rate_or_amount(const Series& series, const char* rate, const char* amount) {
  const json value = rate_of(series, rate), work = problem_number(series, amount);
  if (value.is_number()) return value;
  return work.is_number() && has_time(series) ? work.get<double>() / series.median : 0;
}

std::optional<MainRate> main_rate_of(const Series& series) {
  if (series.status != "ok") {  // published as a rate alone
    if (series.rate_name.empty()) return std::nullopt;
    return MainRate{series.rate_name, series.rate};
  }
  if (const json bus = rate_of(series, "busbw"); bus.is_number()) return MainRate{"busbw", bus};
  // What a benchmark counts besides operations and bytes (images) is what its users speak of.
  const json declared = series.first().at("problem").value("amounts", json::object());
  for (const auto& [name, amount] : declared.items())
    if (const json value = rate_of(series, name);
        name != "flops_per_s" && name != "bytes_per_s" && value.is_number() && value > 0)
      return MainRate{name, value};
  const double flops = rate_or_amount(series, "flops_per_s", "flops");
  const double bytes = rate_or_amount(series, "bytes_per_s", "bytes");
  // What moves more bytes than it does operations is about memory.
  if (flops > 0 && 2 * flops >= bytes) return MainRate{"flops_per_s", flops};
  if (bytes > 0) return MainRate{"bytes_per_s", bytes};
  for (const auto& [name, any] : series.first().at("rates").items())
    if (const json value = rate_of(series, name); value.is_number() && value > 0)
      return MainRate{name, value};
  return std::nullopt;
}

std::string marks(const Series& series) { return published_mark(series.first()) + mark_of(series); }

}  // namespace

std::optional<double> main_rate(const Series& series) {
  const std::optional<MainRate> rate = main_rate_of(series);
  return rate ? std::optional(rate->value) : std::nullopt;
}

std::string rate_cell(const Series& series, Legend& legend) {
  const std::optional<MainRate> rate = main_rate_of(series);
  if (!rate) return "-";
  if (rate->name == "flops_per_s")
    legend.add(
        "rate in FLOP/s: nominal operations (2 per multiply-add of the direct algorithm) / time.");
  if (rate->name == "bytes_per_s")
    legend.add("rate in B/s: bytes that the problem must read and write / time.");
  if (rate->name == "busbw") legend.add(bandwidths_note);
  const std::string label = rate_label(rate->name);
  return human_rate(rate->name, rate->value) + (label.empty() ? "" : " " + label) + marks(series);
}

std::string bandwidth_cell(const Series& series, const std::string& name, Legend& legend) {
  const json rate = rate_of(series, name);
  if (!rate.is_number()) return "-";
  legend.add(bandwidths_note);
  return human_rate(name, rate) + marks(series);
}

bool has_bandwidth(const Series& series) { return rate_of(series, "busbw").is_number(); }

std::optional<double> ceiling_fraction(const Series& series) {
  std::vector<double> fractions;
  for (const json& row : series.rows)
    if (const json ceiling = row.value("ceiling", json());
        ceiling.is_object() && ceiling.at("fraction").is_number())
      fractions.push_back(ceiling.at("fraction"));
  return fractions.empty() ? std::nullopt : std::optional(ratio_median(fractions));
}

std::string ceiling_cell(const Series& series, Legend& legend) {
  const std::optional<double> fraction = ceiling_fraction(series);
  if (!fraction) return "-";
  std::string bound_by;
  bool exceeded = false;
  for (const json& row : series.rows) {
    const json ceiling = row.value("ceiling", json());
    if (!ceiling.is_object() || !ceiling.at("fraction").is_number()) continue;
    bound_by = text_of(ceiling, "bound_by");
    exceeded |= ceiling.value("exceeded", false);
  }
  if (exceeded)
    legend.add(
        "^ Faster than the ceiling by more than 3 %, which is impossible: the machine was slower "
        "when "
        "the ceiling was measured, or one of the two numbers is wrong.");
  legend.add(
      "of ceiling: least time that the peak arithmetic and the memory or cache with the data allow "
      "(measured around the row by assay-stream) / time, and which of them limits.");
  const double percent = 100 * *fraction;
  return fmt::format("{:.{}f} % {}{}", percent, percent < 10 ? 1 : 0, bound_by,
                     (exceeded ? "^" : "") + mark_of(series));
}

namespace {

/// The ceilings of one machine's rows, by what they are of: "fp32 with 2 threads", "fp16 on gpu".
using Measured = std::map<std::string, double>;

void collect(const json& row, Measured& flops, Measured& bytes) {
  const json& ceiling = row.at("ceiling");
  const json& parameters = row.at("parameters");
  const std::string device = parameters.value("device", "cpu");
  const std::string threads = text_of(parameters, "threads");
  std::string with = device == "cpu"
                         ? fmt::format(" with {} thread{}", threads, threads == "1" ? "" : "s")
                         : " on " + device;
  if (const int ranks = parameters.value("ranks", 1); ranks > 1)
    with += row.at("problem").value("shared_by", 1) > 1
                ? fmt::format(" on each of {} ranks, in total", ranks)
                : fmt::format(" on one of {} ranks", ranks);
  const auto add = [](Measured& all, const std::string& what, const json& rate) {
    if (rate.is_number()) all[what] = std::max(all[what], rate.get<double>());
  };
  add(flops, ceiling.value("flops_precision", text_of(parameters, "precision")) + with,
      ceiling.at("flops_per_s"));
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
  const json& memory = peaks.at("bytes_per_s");
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
