#include "analysis/accept/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/ratio.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"

namespace assay {

using enum NodeVerdict;

ExitCode exit_code(NodeVerdict verdict) {
  constexpr ExitCode codes[] = {ExitCode::ok,       ExitCode::ok,           ExitCode::inconclusive,
                                ExitCode::slower,   ExitCode::incomparable, ExitCode::incomparable,
                                ExitCode::incorrect};
  return codes[static_cast<std::size_t>(verdict)];
}

void to_json(nlohmann::json& name, NodeVerdict verdict) { name = verdict_names[verdict]; }
void from_json(const nlohmann::json& name, NodeVerdict& verdict) {
  verdict = verdict_names.at(name.get<std::string>());
}

namespace {

constexpr const char* undecided = "undecided: ";

/// A value or limit of a criterion, with the unit that its quantity implies.
std::string with_unit(const std::string& quantity, double value) {
  if (quantity == "time_s") return format_seconds(value);
  if (quantity == "burn_device_hours") return fmt::format("{:.3g} h", value);
  if (quantity == "burn_limit_per_hour") return fmt::format("{:.3g} an hour", value);
  if (quantity == "ceiling_fraction" || quantity == "burn_slowdown" || quantity == "blame")
    return fmt::format("{:.3g} %", 100 * value);
  return format_rate(quantity, value);
}

}  // namespace

Check check_absolute(const NodeRow& row, const AbsoluteRule& rule) {
  const std::string& quantity = rule.quantity;
  const NodeRow::Quantity& measured = row.quantities.at(quantity);
  // A criterion that cannot be evaluated is not met.
  if (!measured.value)
    return {rule.text, std::nullopt, rule.at_least ? rule.at_least : rule.at_most, missing,
            measured.reason};
  const double value = *measured.value;
  // A burn-in, or a job, that was too short has shown nothing, so a repetition on a quiet machine
  // would not help.
  const bool too_short = quantity == "burn_device_hours" || quantity == "burn_limit_per_hour" ||
                         (rule.at_most && measured.low && *measured.low <= *rule.at_most);
  const auto fail = [&](double limit, const char* side) {
    return Check{
        rule.text, value, limit, too_short ? missing : perf_fail,
        fmt::format("{} is {}{}, {} {} the limit of {}{}", quantity, with_unit(quantity, value),
                    measured.who.empty() ? "" : fmt::format(" ({})", measured.who),
                    format_percentage(std::abs(value / limit - 1)), side,
                    with_unit(quantity, limit),
                    !too_short            ? ""
                    : quantity == "blame" ? ", and may be below it by chance: measure more runs"
                                          : ": burn in for longer")};
  };
  if (rule.at_least && !(value >= *rule.at_least)) return fail(*rule.at_least, "below");
  if (rule.at_most && !(value <= *rule.at_most)) return fail(*rule.at_most, "above");
  return {rule.text, value, rule.at_least ? rule.at_least : rule.at_most};
}

namespace {

/// The median of `sorted` without its value at index `left_out`.
double median_without(const std::vector<double>& sorted, std::size_t left_out) {
  const std::size_t count = sorted.size() - 1;
  const auto at = [&](std::size_t i) { return sorted[i < left_out ? i : i + 1]; };
  const double low = at((count - 1) / 2), high = at(count / 2);
  return count % 2 == 1 ? low : low + 0.5 * (high - low);
}

std::size_t place_in(const std::vector<double>& sorted, double value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
}

}  // namespace

std::vector<Standing> standings(const std::vector<double>& values) {
  std::vector<Standing> positions(values.size());
  if (values.size() < least_others + 1) return positions;
  std::vector<double> logs(values.size());
  std::transform(values.begin(), values.end(), logs.begin(), [](double v) { return std::log(v); });
  std::vector<double> sorted = logs;
  std::sort(sorted.begin(), sorted.end());
  // The medians of the other nodes have at most three different values: the left-out value is below
  // the middle, above it, or in the middle itself.
  std::map<double, std::vector<double>> deviations;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double centre = median_without(sorted, place_in(sorted, logs[i]));
    const auto [distances, fresh] = deviations.try_emplace(centre);
    if (fresh) {
      for (const double value : sorted) distances->second.push_back(std::abs(value - centre));
      std::sort(distances->second.begin(), distances->second.end());
    }
    const std::vector<double>& sorted_distances = distances->second;
    const double spread =
        1.4826 *
        median_without(sorted_distances, place_in(sorted_distances, std::abs(logs[i] - centre)));
    positions[i].others = std::exp(centre);
    if (spread > 0 && values.size() >= least_for_deviation)
      positions[i].deviation = (logs[i] - centre) / spread;
  }
  return positions;
}

Check check_relative(const NodeRow& row, const RelativeRule& rule, const Standing& position) {
  const double limit = 1 + rule.slower_at_most;
  if (!position.others)
    return {rule.text, std::nullopt, limit, missing,
            fmt::format("fewer than {} other nodes have a time of it: measure it on more nodes, or "
                        "leave it out of the relative criteria and give it an absolute one",
                        least_others)};
  const double ratio = *row.value / *position.others;
  const double least_ratio = row.low.value_or(*row.value) / *position.others;
  if (ratio <= limit && least_ratio <= limit) return {rule.text, ratio, limit};
  const std::string reason =
      fmt::format("speedup over the other {} {:.3f} ({}), at least {:.3f} is required",
                  row.pair.empty() || row.pairs > 0 ? "nodes" : "pairs", compute_speedup(ratio),
                  row.high ? fmt::format("{:.3f} to {:.3f} by its launches",
                                         compute_speedup(*row.high / *position.others),
                                         compute_speedup(least_ratio))
                           : "one launch",
                  compute_speedup(limit));
  // The ratio is above the limit, perhaps by chance. The row fails if it is slower than the others
  // beyond the error of the measurement; otherwise it is undecided. It never passes.
  if (least_ratio > 1) return {rule.text, ratio, limit, perf_fail, reason};
  return {rule.text, ratio, limit, missing, undecided + reason + ": run more launches"};
}

void allow_for_noise(std::vector<Check>& checks, const std::string& noise) {
  if (noise.empty()) return;
  for (Check& check : checks) {
    const bool is_undecided = check.verdict == missing && check.reason.starts_with(undecided);
    if (check.verdict != perf_fail && !is_undecided) continue;
    check.verdict = not_quiet;
    check.reason += fmt::format("; {}: measure it again", noise);
  }
}

}  // namespace assay
