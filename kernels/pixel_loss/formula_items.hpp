#pragma once
// The reference of a loss of pixels as code of one thread, on the host or on a device
// (core/api/formula.hpp, kernels/oracle/part_of_sum.hpp). Definitions and shapes:
// kernels/pixel_loss/problem.hpp; bounds: docs/method-training.md.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::pixel_loss {

using sums::Approximate;
using sums::of_functions;

struct Pixel {
  std::int64_t label = 0, first_largest = 0;              ///< of equal logits the first
  double weight = 0, of_label = 0, largest = 0, sum = 0;  ///< logits; the softmax' divisor
};

struct Pixels {
  std::int64_t classes = 1, plane = 1;
  double u = 0;  ///< of the arithmetic

  /// `x(c)`: the logit of class c. The weight of an invalid label is NaN.
  template <class X>
  ASSAY_ITEM Pixel pixel(const X& x, double label, const double* weights) const {
    Pixel result;
    const bool valid = label >= 0 && label < static_cast<double>(classes);
    result.label = valid ? static_cast<std::int64_t>(label) : 0;
    result.weight = valid ? weights[result.label] : 0 * HUGE_VAL;
    result.of_label = x(result.label);
    result.first_largest = find_largest(x);
    result.largest = x(result.first_largest);
    for (std::int64_t c = 0; c < classes; ++c) result.sum += std::exp(x(c) - result.largest);
    return result;
  }
  template <class X>
  ASSAY_ITEM std::int64_t find_largest(const X& x) const {
    std::int64_t first = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (x(c) > x(first)) first = c;
    return first;
  }

  ASSAY_ITEM Approximate loss(const Pixel& about) const {
    const double apart = about.largest - about.of_label, log = std::log(about.sum);
    // Rounded are: largest - x_y, the logarithm, their sum, and its product with the weight.
    return {about.weight * (log + apart),
            about.weight * (of_sum() + u * (of_functions * log + 3 * (log + apart)))};
  }

  /// The derivative by the logit x of class c. `by`: a factor of all derivatives.
  ASSAY_ITEM Approximate gradient(const Pixel& about, std::int64_t c, double x, double by) const {
    const double q = std::exp(x - about.largest) / about.sum, is_label = c == about.label ? 1 : 0,
                 factor = by * about.weight;
    return {factor * (q - is_label),
            std::fabs(factor) *
                (q * (of_exp(about.largest - x) + of_sum() + 2 * u) + 5 * u * (q + is_label))};
  }

 private:
  /// The relative error of exp(-apart): the rounding error of its argument, plus its own.
  ASSAY_ITEM double of_exp(double apart) const { return u * (of_functions + apart); }
  /// The relative error of the divisor of the softmax. Its terms are positive, and terms far below
  /// the largest one are a small part of it.
  ASSAY_ITEM double of_sum() const {
    const double count = static_cast<double>(classes);
    return of_exp(1 + std::log(count)) + (count + 1) * u / 2;
  }
};

/// The logits of a pixel of image n.
template <class In>
struct LogitsAt {
  const In& in;
  std::int64_t first, plane;
  ASSAY_ITEM double operator()(std::int64_t c) const { return in(0, first + c * plane); }
};

/// Inputs: logits, labels. Table: scale / samples, then the weights of the classes.
struct DiffLogits {
  static constexpr const char* name = "pixel loss diff_logits";
  Pixels pixels;
  sums::SumBound bound;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const std::int64_t plane = pixels.plane, image = pixels.classes * plane, n = i / image,
                       p = i % plane, c = i % image / plane;
    const LogitsAt<In> x{in, n * image + p, plane};
    const Approximate near =
        pixels.gradient(pixels.pixel(x, in(1, n * plane + p), table + 1), c, x(c), table[0]);
    return bound.rounded(near.value, near.error, near.error);
  }
};

/// Sums over the pixels of an image: [samples] losses, [samples] their errors, then confusion.
/// Inputs and table as above.
struct Products {
  static constexpr const char* name = "pixel loss part of a sum";
  Pixels pixels;
  std::int64_t samples = 1;
  template <class In>
  ASSAY_ITEM bool read(const In& in, const double* table, std::int64_t sum, std::int64_t p,
                       double& a, double& b) const {
    const std::int64_t classes = pixels.classes, plane = pixels.plane, cell = sum - 2 * samples,
                       n = cell < 0 ? sum % samples : cell / (classes * classes);
    const LogitsAt<In> x{in, n * classes * plane + p, plane};
    const double label = in(1, n * plane + p);
    b = 1;
    if (cell >= 0) {
      a = 1;
      return label == static_cast<double>(cell / classes % classes) &&
             pixels.find_largest(x) == cell % classes;
    }
    const Approximate loss = pixels.loss(pixels.pixel(x, label, table + 1));
    a = sum < samples ? loss.value : loss.error;
    return true;
  }
};

}  // namespace assay::pixel_loss
