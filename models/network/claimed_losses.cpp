#include "models/network/claimed_losses.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// Roundings of a loss; an exponential errs by some u of its argument.
constexpr double roundings = 32;

/// Mean intersection over union of the classes that occur in labels or predictions.
double compute_iou(const std::vector<std::int64_t>& counts, std::size_t classes) {
  double sum = 0, present = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    std::int64_t labelled = 0, predicted = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      labelled += counts[c * classes + k];
      predicted += counts[k * classes + c];
    }
    const std::int64_t both = counts[c * classes + c], either = labelled + predicted - both;
    if (either == 0) continue;
    sum += static_cast<double>(both) / static_cast<double>(either);
    present += 1;
  }
  return sum / present;
}

}  // namespace

ClaimedLoss compute_claimed_cross_entropy(std::span<const double> logits, std::size_t label,
                                          double smoothing, double u) {
  const double most = *std::ranges::max_element(logits);
  const auto classes = static_cast<double>(logits.size());
  double exponentials = 0, mean = 0, size = 0;
  for (const double logit : logits) {
    exponentials += std::exp(logit - most);
    mean += logit / classes;
    size = std::max(size, std::abs(logit));
  }
  return {std::log(exponentials) + most - (1 - smoothing) * logits[label] - smoothing * mean,
          u * (roundings * (size + 1) + (1 + smoothing * size) * classes)};
}

ClaimedPixels compute_claimed_pixels(std::span<const double> logits, std::span<const double> labels,
                                     std::span<const double> factors, double u) {
  const std::size_t classes = factors.size(), pixels = labels.size();
  ClaimedPixels claimed;
  claimed.counts.resize(classes * classes);
  for (std::size_t p = 0; p < pixels; ++p) {
    std::size_t largest = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (logits[c * pixels + p] > logits[largest * pixels + p]) largest = c;
    const double most = logits[largest * pixels + p];
    double exponentials = 0;
    for (std::size_t c = 0; c < classes; ++c)
      exponentials += std::exp(logits[c * pixels + p] - most);
    const auto label = static_cast<std::size_t>(labels[p]);
    const double loss = std::log(exponentials) + most - logits[label * pixels + p];
    claimed.loss.value += factors[label] * loss;
    claimed.loss.bound +=
        u * factors[label] * (roundings * (loss + 1) + static_cast<double>(classes));
    ++claimed.counts[label * classes + largest];
  }
  claimed.iou = compute_iou(claimed.counts, classes);
  return claimed;
}

}  // namespace assay
