#include "analysis/ratio.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace assay {

using nlohmann::json;

double speedup(double first_s, double second_s) { return second_s / first_s; }

double speedup_of(double time_ratio) { return 1 / time_ratio; }

Interval speedup_of(const Interval& time_ratio) {
  return {1 / time_ratio.high, 1 / time_ratio.low};
}

json speedup_json(const json& time_ratio) {
  if (time_ratio.is_array() && time_ratio.size() == 2) {
    if (!(time_ratio[0] > 0) || !(time_ratio[1] > 0)) return nullptr;
    return {speedup_of(time_ratio[1].get<double>()), speedup_of(time_ratio[0].get<double>())};
  }
  if (!time_ratio.is_number() || !(time_ratio > 0)) return nullptr;
  return speedup_of(time_ratio.get<double>());
}

std::string over(const std::string& first, const std::string& second) {
  return fmt::format("{} over {}", first, second);
}

std::string speedup_header(const std::string& first, const std::string& second) {
  return fmt::format("speedup: {}, above 1 {} is faster", over(first, second), first);
}

}  // namespace assay
