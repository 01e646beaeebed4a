#include "models/network/pixel_classes.hpp"

#include <cmath>

#include "core/base/place.hpp"
#include "models/network/scores.hpp"

namespace assay {

std::vector<double> class_weights(std::span<const double> frequencies, double power) {
  std::vector<double> weights;
  for (const double frequency : frequencies) weights.push_back(std::pow(frequency, power));
  return weights;
}

double iou(std::span<const std::int32_t> confusion, std::int64_t classes) {
  double sum = 0;
  int present = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    std::int64_t joined = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      joined += confusion[place(c * classes + k)];
      if (k != c) joined += confusion[place(k * classes + c)];
    }
    if (joined == 0) continue;
    ++present;
    sum += confusion[place(c * classes + c)] / static_cast<double>(joined);
  }
  return present > 0 ? sum / present : 0;
}

}  // namespace assay
