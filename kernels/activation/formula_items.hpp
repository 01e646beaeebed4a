#pragma once
// The reference of activations as code of one thread, on the host or on a device
// (core/api/formula.hpp). Definitions: kernels/activation/problem.hpp.
//
// Bounds. u is the roundoff of the arithmetic, which rounds z = x + b once: an error of u |z|,
// which the derivative passes on (without a bias there is none). exp, tanh and erf may be wrong by
// 8 u, as in a loss; `of_functions` also covers the few roundings of sums and products beside them:
//   sigmoid   s = 1 / (1 + exp(-z))           8 u s, and the smallest normal number
//   tanh      t                               8 u |t|
//   gelu      |z| (1 + erf) / 2               8 u |z|: of erf alone 4 u |z|
//   log_sigmoid  l                            the same of |l|: both terms of l have its sign
//   their derivatives, times g = diff_dst:
//   sigmoid   y (1 - y), or y - y^2           4 u |g| (|y| + y^2)
//   tanh      1 - y^2                         4 u |g| (1 + y^2)
//   log_sigmoid  1 - exp(y)                   8 u |g| (1 + exp(y))
//   gelu      P + z p, where P = (1 + erf) / 2 and p = exp(-z^2 / 2) / sqrt(2 pi); rounding z^2 / 2
//             changes p by u z^2 / 2          8 u |g| (1 + |z| p (1 + z^2))
// and p |2 - z^2| u |z| |g| of the sum z, since the second derivative of gelu is p (2 - z^2). The
// results of identity and relu without a bias, and gradients of relu, are copies.

#include "kernels/activation/function.hpp"
#include "kernels/oracle/sum_bound.hpp"

namespace assay::activation {

inline constexpr double of_products = 4;

using sums::Approximate;
using sums::of_functions;

/// The common part of all elements. A table has the biases of the channels, if there are any.
struct Element {
  ActivationFunction function = ActivationFunction::identity;
  bool bias = false;
  std::int64_t plane = 1, channels = 1;
  double u = 0;

  ASSAY_ITEM double read_bias(const double* table, std::int64_t i) const {
    return bias ? table[i / plane % channels] : 0;
  }
  /// The smallest normal number of the arithmetic: smaller exponentials may become 0.
  ASSAY_ITEM double least_normal() const { return u > 0x1p-40 ? 0x1p-126 : 0x1p-1022; }
  /// The error of the computed z.
  ASSAY_ITEM double bound_error(double z) const { return bias ? u * std::fabs(z) : 0; }

  ASSAY_ITEM static double half_erfc(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
  ASSAY_ITEM static double density(double z) {
    return std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
  }

  ASSAY_ITEM Approximate forward(double z) const {
    const double error = bound_error(z);
    switch (function) {
      case ActivationFunction::identity:
        return {z, error};
      case ActivationFunction::relu:
        return {z < 0 ? 0 : z, z + error > 0 ? error : 0};
      case ActivationFunction::sigmoid: {
        const double s = 1 / (1 + std::exp(-z));
        return {s, s * (1 - s) * error + of_functions * u * s + least_normal()};
      }
      case ActivationFunction::tanh: {
        const double t = std::tanh(z);
        return {t, (1 - t * t) * error + of_functions * u * std::fabs(t)};
      }
      case ActivationFunction::gelu: {
        const double part = half_erfc(z);
        return {z * part,
                std::fabs(part + z * density(z)) * error + of_functions * u * std::fabs(z)};
      }
      case ActivationFunction::log_sigmoid: {
        const double e = std::exp(-std::fabs(z)), l = (z < 0 ? z : 0) - std::log1p(e);
        return {l, (z < 0 ? 1 : e) / (1 + e) * error + of_functions * u * std::fabs(l) +
                       least_normal()};
      }
    }
    return {};
  }

  /// g f', computed from y = dst (gelu: from y = z).
  ASSAY_ITEM Approximate backward(double g, double y) const {
    const double size = std::fabs(g), squared = y * y;
    switch (function) {
      case ActivationFunction::identity:
        return {g, 0};
      case ActivationFunction::relu:
        return {y > 0 ? g : 0, 0};
      case ActivationFunction::sigmoid:
        return {g * y * (1 - y), of_products * u * size * (std::fabs(y) + squared)};
      case ActivationFunction::tanh:
        return {g * (1 - squared), of_products * u * size * (1 + squared)};
      case ActivationFunction::gelu: {
        const double p = density(y);
        return {g * (half_erfc(y) + y * p),
                size * (p * std::fabs(2 - squared) * bound_error(y) +
                        of_functions * u * (1 + std::fabs(y) * p * (1 + squared)))};
      }
      case ActivationFunction::log_sigmoid:
        return {-g * std::expm1(y), of_functions * u * size * (1 + std::exp(y))};
    }
    return {};
  }
};

/// Input: src.
struct Dst : Element {
  static constexpr const char* name = "activation dst";
  sums::SumBound bound;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const Approximate near = forward(in(0, i) + read_bias(table, i));
    return near.error == 0 ? Expected{near.value, 0, 0}
                           : bound.rounded(near.value, near.error, near.error);
  }
};

/// The gradient of an element. Inputs: diff_dst, and dst or src where the derivative is not 1.
template <class In>
ASSAY_ITEM Approximate gradient(const Element& element, const In& in, const double* table,
                                std::int64_t i) {
  if (element.function == ActivationFunction::identity) return element.backward(in(0, i), 0);
  return element.backward(in(0, i), in(1, i) + element.read_bias(table, i));
}

struct DiffSrc : Element {
  static constexpr const char* name = "activation diff_src";
  sums::SumBound bound;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const Approximate near = gradient(*this, in, table, i);
    return near.error == 0 ? Expected{near.value, 0, 0}
                           : bound.rounded(near.value, near.error, near.error);
  }
};

/// Sums of the gradients t, of |t| and t^2, of the errors of t, and of the squares of these errors.
struct GradientSums : Element {
  static constexpr const char* name = "activation gradient sums";
  static constexpr int terms = 5;
  static constexpr int magnitudes[terms] = {1, 1, 2, 3, 4};  ///< the sum that bounds each
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i, double* to) const {
    const Approximate near = gradient(*this, in, table, i);
    to[0] = near.value;
    to[1] = std::fabs(near.value);
    to[2] = near.value * near.value;
    to[3] = near.error;
    to[4] = near.error * near.error;
  }
};

}  // namespace assay::activation
