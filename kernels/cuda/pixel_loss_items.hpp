#pragma once
// The item (item.hpp) of the loss of pixels (kernels/pixel_loss/problem.hpp), channels innermost.

#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Pixels that a thread adds, of one sample.
inline constexpr std::int64_t pixels_of_thread = 16;

/// Thread i computes part i / samples of sample i % samples. It writes the sum of its pixels'
/// losses to losses[i], and their counts to counts[i][label][class]; SumStage adds these. `known`
/// is the number of classes, or 0 for any number. If it is known, a thread counts in registers, and
/// computes as many pixels at once as a pack has logits; a plane must then consist of whole packs.
template <class Stored, int known>
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
    losses[i] = add(sample * plane + first, sample * plane + last, counts + i * classes * classes);
  }

 private:
  /// The losses of these pixels of a sample.
  ASSAY_ITEM double add(std::int64_t pixel, std::int64_t end, double* own) const {
    double sum = 0;
    if constexpr (known == 0) {
      for (std::int64_t k = 0; k < classes * classes; ++k) own[k] = 0;
      for (; pixel < end; ++pixel) {
        const Stored* const from = logits + pixel * classes;
        Stored* const gradients = to + pixel * classes;
        const std::int64_t label = labels[pixel];
        const auto [loss, best] = of_pixel(
            label, [&](std::int64_t c) { return Value(widen(from[c])); },
            [&](std::int64_t c, Value g) { gradients[c] = narrow<Stored>(g); });
        own[label * classes + best] += 1;
        sum += loss;
      }
    } else {
      std::int32_t counts[known * known] = {};
      for (; pixel < end; pixel += widest<Stored>) add_packs(pixel, counts, sum);
      for (int k = 0; k < known * known; ++k) own[k] = counts[k];
    }
    return sum;
  }

  /// Adds as many pixels as a pack has elements. The compiler knows all indices of arrays.
  ASSAY_ITEM void add_packs(std::int64_t pixel, std::int32_t* counts, double& sum) const {
    constexpr int width = widest<Stored>, of_load = width < 4 ? width : 4;
    Value x[width * known], g[width * known] = {};
    std::int32_t label[width];
    for (int k = 0; k < known; ++k) load<width>(logits + pixel * known + k * width, x + k * width);
    for (int j = 0; j < width; j += of_load) {
      const Pack<std::int32_t, of_load> some = read<of_load>(labels + pixel + j);
      for (int e = 0; e < of_load; ++e) label[j + e] = some.at[e];
    }
    for (int j = 0; j < width; ++j) {
      const auto [loss, best] = of_pixel(
          label[j], [&](std::int64_t c) { return x[j * known + c]; },
          [&](std::int64_t c, Value gradient) { g[j * known + c] = gradient; });
      for (int k = 0; k < known * known; ++k) counts[k] += k == label[j] * known + best ? 1 : 0;
      sum += loss;
    }
    if (scale != nullptr)
      for (int k = 0; k < known; ++k) store<width>(g + k * width, to + pixel * known + k * width);
  }

  struct PixelLoss {
    double loss;
    int best;  ///< the first class with the largest logit
  };
  /// x(c): a logit. put(c, gradient) is called if there are gradients.
  template <class X, class PieceWriter>
  ASSAY_ITEM PixelLoss of_pixel(std::int64_t label, const X& x, const PieceWriter& put) const {
    const std::int64_t count = known > 0 ? known : classes;
    Value largest = x(0), sum = 0, of_label = x(0);
    int best = 0;
    for (int c = 1; c < count; ++c) {
      const Value value = x(c);
      if (c == label) of_label = value;
      if (value > largest) {
        largest = value;
        best = c;
      }
    }
    for (int c = 0; c < count; ++c) sum += std::exp(x(c) - largest);
    if (scale != nullptr) {
      const Value by =
          static_cast<Value>(static_cast<double>(*scale) / static_cast<double>(samples)) *
          weights[label];
      for (int c = 0; c < count; ++c)
        put(c, by * (std::exp(x(c) - largest) / sum - static_cast<Value>(c == label ? 1 : 0)));
    }
    return {static_cast<double>(weights[label]) *
                static_cast<double>(std::log(sum) + (largest - of_label)),
            best};
  }
};

}  // namespace assay::cuda
