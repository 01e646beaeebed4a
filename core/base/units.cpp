#include "core/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace assay {

namespace {

/// Three significant digits, no exponent, for 1 <= value < 1000 (rounding up to 1000 is the
/// caller's care).
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

/// The end of the name of a rate, and the unit that it then has.
struct RateUnit {
  std::string_view ending, unit;
  bool whole_name = false;  ///< the ending names what is counted, so the label keeps it
};
constexpr std::array<RateUnit, 4> rate_units{{{"flops_per_s", "FLOP/s"},
                                              {"bytes_per_s", "B/s"},
                                              {"bw", "B/s", true},
                                              {"figure_of_merit", "B/s", true}}};
constexpr std::string_view per_second = "_per_s", latency = "loads_per_s";

const RateUnit* find_unit(const std::string& name) {
  for (const RateUnit& unit : rate_units)
    if (name.ends_with(unit.ending)) return &unit;
  return nullptr;
}

}  // namespace

std::string format_with_unit(double value, const std::string& unit) {
  static constexpr std::array<const char*, 10> prefixes{"n", "\u00b5", "m", "",  "k",
                                                        "M", "G",      "T", "P", "E"};
  if (!std::isfinite(value)) return "?";
  if (value == 0) return "0 " + unit;
  const double size = std::fabs(value);
  int step = static_cast<int>(std::floor(std::log10(size) / 3));
  // 999.6 would print as 1000: the next prefix then.
  if (size / std::pow(1000.0, step) >= 999.5) ++step;
  if (step < -3 || step > 6) return fmt::format("{:.2e} {}", value, unit);
  const double scaled = size / std::pow(1000.0, step);
  return fmt::format("{}{} {}{}", value < 0 ? "-" : "", three_digits(scaled),
                     prefixes[static_cast<std::size_t>(std::ptrdiff_t{step} + 3)], unit);
}

std::string format_seconds(double seconds) {
  // Kiloseconds are not used as a unit.
  if (std::isfinite(seconds) && seconds >= 999.5) return fmt::format("{:.0f} s", seconds);
  return format_with_unit(seconds, "s");
}

std::string format_seconds_range(double low_seconds, double high_seconds) {
  const std::string low = format_seconds(low_seconds), high = format_seconds(high_seconds);
  const std::size_t unit = low.find(' ');
  const bool same = unit != std::string::npos && high.ends_with(low.substr(unit));
  return (same ? low.substr(0, unit) : low) + " .. " + high;
}

std::string format_percentage(double part) {
  const double percent = 100 * part;
  return std::abs(percent) < 99.5 ? fmt::format("{:.2g} %", percent)
                                  : fmt::format("{:.0f} %", percent);
}

std::string format_error(double error) { return error == 0 ? "0" : fmt::format("{:.1e}", error); }

std::string format_rate(const std::string& name, double rate) {
  if (name == latency && rate > 0) return format_seconds(1 / rate) + "/load";
  // The procurement's rules prescribe this unit for every size.
  if (name == "figure_of_merit") return fmt::format("{:.3g} TB/s", rate / 1e12);
  if (const RateUnit* unit = find_unit(name))
    return format_with_unit(rate, std::string(unit->unit));
  const bool counted = name.ends_with(per_second);
  const std::string unit = counted ? name.substr(0, name.size() - per_second.size()) + "/s" : name;
  // A short rate of counted things (images) has no prefix.
  return rate < 9999.5 ? fmt::format("{:.4g} {}", rate, unit) : format_with_unit(rate, unit);
}

std::string format_rate_label(const std::string& name) {
  const RateUnit* unit = find_unit(name);
  if (unit == nullptr) return "";
  if (unit->whole_name) return name;
  const std::string before = name.substr(0, name.size() - unit->ending.size());
  return before.substr(0, before.find_last_not_of('_') + 1);
}

}  // namespace assay
