#pragma once
// The qualities that trainings reach, by the names that rows have in metrics and epochs.

#include <string>

namespace assay {

inline constexpr const char* qualities[] = {"accuracy", "correlation", "iou"};

/// The name of the quality among `numbers` (of an epoch or metrics); "" if there is none.
template <class Numbers>
std::string find_quality(const Numbers& numbers) {
  for (const char* quality : qualities)
    if (numbers.contains(quality)) return quality;
  return "";
}

/// The metric of a training that has reached its target: "time_to_accuracy_s"; "" if there is none.
template <class Metrics>
std::string time_to_target(const Metrics& metrics) {
  for (const char* quality : qualities)
    if (const std::string name = std::string("time_to_") + quality + "_s"; metrics.contains(name))
      return name;
  return "";
}

}  // namespace assay
