#include "analysis/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace assay {

namespace {

/// Three significant digits, no exponent, for 1 <= value < 1000 (rounding up to 1000 is the
/// caller's care).
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string human(double value, const std::string& unit) {
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

std::string human_seconds(double seconds) {
  // Kiloseconds are nobody's unit.
  if (std::isfinite(seconds) && seconds >= 999.5) return fmt::format("{:.0f} s", seconds);
  return human(seconds, "s");
}

std::string human_error(double error) { return error == 0 ? "0" : fmt::format("{:.1e}", error); }

}  // namespace assay
