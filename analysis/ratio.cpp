#include "analysis/ratio.hpp"

#include <fmt/format.h>

namespace assay {

double speedup(double first_s, double second_s) { return second_s / first_s; }

double compute_speedup(double time_ratio) { return 1 / time_ratio; }

Interval compute_speedup(const Interval& time_ratio) {
  return {1 / time_ratio.high, 1 / time_ratio.low};
}

std::optional<double> compute_speedup(const std::optional<double>& time_ratio) {
  return time_ratio > 0 ? std::optional(compute_speedup(*time_ratio)) : std::nullopt;
}

std::optional<Interval> compute_speedup(const std::optional<Interval>& time_ratio) {
  const bool known = time_ratio && time_ratio->low > 0 && time_ratio->high > 0;
  return known ? std::optional(compute_speedup(*time_ratio)) : std::nullopt;
}

std::string over(const std::string& first, const std::string& second) {
  return fmt::format("{} over {}", first, second);
}

std::string format_speedup_header(const std::string& first, const std::string& second) {
  return fmt::format("speedup: {}, above 1 {} is faster", over(first, second), first);
}

}  // namespace assay
