#include "analysis/accept/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/ratio.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace verdict {

namespace {
constexpr std::array order{pass, not_quiet, perf_fail, missing, incorrect};
}

int severity(const std::string& verdict) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (verdict == order[i]) return static_cast<int>(i);
  return 0;
}

ExitCode code_of(const std::string& verdict) {
  constexpr ExitCode codes[] = {ExitCode::ok, ExitCode::inconclusive, ExitCode::slower,
                                ExitCode::incomparable, ExitCode::incorrect};
  return codes[severity(verdict)];
}

}  // namespace verdict

using namespace verdict;

json check(const std::string& criterion, const json& value, const json& limit, const char* verdict,
           const json& reason) {
  return {{"criterion", criterion},
          {"value", value},
          {"limit", limit},
          {"verdict", verdict},
          {"reason", reason}};
}

namespace {

/// The median of a quantity over the launches of a row; nothing, and why, where it is unknown.
std::optional<double> quantity_of(const NodeRow& row, const std::string& quantity,
                                  std::string& why) {
  if (quantity == "time_s") return row.value;
  std::vector<double> values;
  for (const json& launch : row.launches) {
    json value;
    if (quantity == "ceiling_fraction") {
      const json ceiling = launch.value("ceiling", json());
      if (ceiling.is_object()) value = ceiling.value("fraction", json());
      const json reason = launch.value("ceiling_reason", json());
      why = reason.is_string() ? "no ceiling: " + reason.get<std::string>()
                               : "the row has no ceiling";
    } else {
      value = launch.at("rates").value(quantity, json());
      why = fmt::format("the row has no {}", quantity);
    }
    if (!value.is_number()) return std::nullopt;
    values.push_back(value);
  }
  return quantity == "ceiling_fraction" ? ratio_median(values) : median(values);
}

constexpr const char* undecided = "undecided: ";

/// A value or limit of a criterion, with the unit that its quantity implies.
std::string with_unit(const std::string& quantity, double value) {
  if (quantity == "time_s") return human_seconds(value);
  if (quantity == "ceiling_fraction") return fmt::format("{:.3g} %", 100 * value);
  return human_rate(quantity, value);
}

}  // namespace

json absolute_check(const NodeRow& row, const AbsoluteRule& rule) {
  const json limit = rule.at_least ? json(*rule.at_least) : json(*rule.at_most);
  std::string why;
  const std::optional<double> value = quantity_of(row, rule.quantity, why);
  // A criterion that cannot be evaluated is not met.
  if (!value) return check(rule.text, nullptr, limit, missing, why);
  const auto failed = [&](double crossed, const char* side) {
    return check(
        rule.text, *value, crossed, perf_fail,
        fmt::format("{} is {}, {} {} the limit of {}", rule.quantity,
                    with_unit(rule.quantity, *value), human_percent(std::abs(*value / crossed - 1)),
                    side, with_unit(rule.quantity, crossed)));
  };
  if (rule.at_least && !(*value >= *rule.at_least)) return failed(*rule.at_least, "below");
  if (rule.at_most && !(*value <= *rule.at_most)) return failed(*rule.at_most, "above");
  return check(rule.text, *value, limit, pass, nullptr);
}

Standing standing(const std::vector<double>& values, std::size_t index) {
  std::vector<double> others;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i != index) others.push_back(std::log(values[i]));
  Standing made;
  if (others.size() < least_others) return made;
  const double centre = median(others), spread = 1.4826 * mad(others);
  made.others = std::exp(centre);
  if (spread > 0) made.deviation = (std::log(values[index]) - centre) / spread;
  return made;
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
  std::vector<Standing> made(values.size());
  if (values.size() < least_others + 1) return made;
  std::vector<double> logs(values.size());
  std::transform(values.begin(), values.end(), logs.begin(), [](double v) { return std::log(v); });
  std::vector<double> sorted = logs;
  std::sort(sorted.begin(), sorted.end());
  // The others have one of three centres: a value is below it, above it, or in the middle itself.
  std::map<double, std::vector<double>> deviations;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double centre = median_without(sorted, place_in(sorted, logs[i]));
    const auto [from_centre, fresh] = deviations.try_emplace(centre);
    if (fresh) {
      for (const double value : sorted) from_centre->second.push_back(std::abs(value - centre));
      std::sort(from_centre->second.begin(), from_centre->second.end());
    }
    const std::vector<double>& all = from_centre->second;
    const double spread = 1.4826 * median_without(all, place_in(all, std::abs(logs[i] - centre)));
    made[i].others = std::exp(centre);
    if (spread > 0) made[i].deviation = (logs[i] - centre) / spread;
  }
  return made;
}

json relative_check(const NodeRow& row, const RelativeRule& rule, const Standing& position) {
  const double limit = 1 + rule.slower_at_most;
  if (!position.others)
    return check(rule.text, nullptr, limit, missing,
                 fmt::format("fewer than {} other nodes have a time of it: measure it on more "
                             "nodes, or leave it out of the relative criteria and give it an "
                             "absolute one",
                             least_others));
  const double ratio = row.value / *position.others;
  const double least_ratio = (row.spread ? row.spread->low : row.value) / *position.others;
  if (ratio <= limit && least_ratio <= limit) return check(rule.text, ratio, limit, pass, nullptr);
  const std::string reason = fmt::format(
      "speedup over the median of the other nodes {:.3f}, but at least {:.3f} is required ({})",
      speedup_of(ratio), speedup_of(limit),
      row.spread
          ? fmt::format("{:.3f} to {:.3f} by its launches",
                        speedup_of(row.spread->high / *position.others), speedup_of(least_ratio))
          : "one launch");
  // The ratio is above the limit, perhaps by chance. The row fails if it is slower than the others
  // beyond the error of the measurement, else it is undecided. It never passes.
  return least_ratio > 1
             ? check(rule.text, ratio, limit, perf_fail, reason)
             : check(rule.text, ratio, limit, missing, undecided + reason + ": run more launches");
}

void allow_for_noise(json& check, const std::string& noise) {
  const json& reason = check["reason"];
  const bool is_undecided = check["verdict"] == missing && reason.is_string() &&
                            reason.get<std::string>().starts_with(undecided);
  if (check["verdict"] != perf_fail && !is_undecided) return;
  check["verdict"] = not_quiet;
  check["reason"] = fmt::format("{}; {}: measure it again", reason.get<std::string>(), noise);
}

}  // namespace assay
