#pragma once
// The item (item.hpp) of the loss of pixels (kernels/pixel_loss/problem.hpp), channels innermost.

#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Pixels that a thread adds, of one sample.
inline constexpr std::int64_t pixels_of_thread = 16;

/// Thread i has part i / samples of sample i % samples. It writes the sum of its pixels' losses to
/// losses[i], and their counts to counts[i][label][class], which AddUp adds.
template <class Stored>
struct LossOfPixels {
  using Value = ValueOf<Stored>;
  const Stored* logits;
  const std::int32_t* labels;
  const Value *weights, *scale;  ///< scale: null without gradients
  std::int64_t samples, classes, plane;
  double *losses, *counts;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t part = i / samples, sample = i - part * samples,
                       first = part * pixels_of_thread,
                       last = first + pixels_of_thread < plane ? first + pixels_of_thread : plane;
    double* const own = counts + i * classes * classes;
    for (std::int64_t c = 0; c < classes * classes; ++c) own[c] = 0;
    double sum = 0;
    for (std::int64_t p = first; p < last; ++p) sum += loss(sample * plane + p, own);
    losses[i] = sum;
  }

 private:
  ASSAY_ITEM double loss(std::int64_t pixel, double* own) const {
    const Stored* const x = logits + pixel * classes;
    const std::int64_t y = labels[pixel];
    Value largest = widen(x[0]), sum = 0;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (const Value value = widen(x[c]); value > largest) {
        largest = value;
        best = c;
      }
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(widen(x[c]) - largest);
    own[y * classes + best] += 1;
    const Value apart = largest - widen(x[y]);
    if (scale != nullptr) {
      const Value by =
          static_cast<Value>(static_cast<double>(*scale) / static_cast<double>(samples)) *
          weights[y];
      for (std::int64_t c = 0; c < classes; ++c)
        to[pixel * classes + c] = narrow<Stored>(
            by * (std::exp(widen(x[c]) - largest) / sum - static_cast<Value>(c == y ? 1 : 0)));
    }
    return static_cast<double>(weights[y]) * static_cast<double>(std::log(sum) + apart);
  }
};

}  // namespace assay::cuda
