#pragma once
// The reference of batch normalization as code of one thread, on the host or on a device
// (core/api/formula.hpp). Formulas: kernels/norm/problem.hpp; bounds: docs/method-norm.md.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::norm {

/// Elements [n, channel, y, x].
struct Planes {
  std::int64_t plane = 1, channels = 1;
  ASSAY_ITEM std::int64_t channel(std::int64_t i) const { return i / plane % channels; }
};

/// A channel's own value, its largest error, and the contribution of its error to a norm.
struct BoundedValue {
  double value = 0, most = 0, typical = 0;
};

/// One channel: the numbers from which the elements of the outputs are computed. A row of the
/// formulas' table.
struct Channel {
  double scale = 0, shift = 0;
  double inverse = 0;  ///< 1 / sqrt(variance + epsilon)
  BoundedValue mean, variance, diff_scale, diff_shift;
};
inline constexpr std::size_t numbers_of_channel = sizeof(Channel) / sizeof(double);
ASSAY_ITEM const Channel& channel_at(const double* table, std::int64_t c) {
  return reinterpret_cast<const Channel*>(table)[c];
}

/// diff_dst, the second input; 0 where the rectifier blocked the value. With a rectifier the third
/// input is dst.
template <class In>
ASSAY_ITEM double gradient(const In& in, bool relu, std::int64_t i) {
  return relu && !(in(2, i) > 0) ? 0 : in(1, i);
}

/// The common part of all elements.
struct Element {
  sums::SumBound bound;
  Planes planes;
  double m = 1, epsilon = 0;    ///< elements of a channel
  double u = 0, roundings = 0;  ///< of the arithmetic; of operands that are stored between
  bool relu = false;
};

/// Inputs: src and, with `adds`, the addend.
struct Dst : Element {
  static constexpr const char* name = "norm dst";
  bool adds = false;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const Channel& c = channel_at(table, planes.channel(i));
    const double x = in(0, i), addend = adds ? in(1, i) : 0, a = c.scale * c.inverse,
                 centred = x - c.mean.value, y = a * centred + c.shift, value = y + addend;
    const double rounding =
        4 * u * (std::fabs(a * x) + std::fabs(a * c.mean.value) + std::fabs(c.shift)) +
        2 * u * std::fabs(addend) + roundings * std::fabs(y);
    // Half of the variance's relative error, and the roundings of the root and the quotient.
    const auto error = [&](double of_mean, double of_variance) {
      const double of_inverse = of_variance / 2 / (c.variance.value + epsilon) + 3 * u;
      return std::fabs(a) * (of_mean + std::fabs(centred) * of_inverse) + rounding;
    };
    const double most = error(c.mean.most, c.variance.most);
    if (relu && value + most <= 0) return {0, 0, 0};
    return bound.rounded(relu && value < 0 ? 0 : value, most,
                         error(c.mean.typical, c.variance.typical));
  }
};

/// Inputs: src, diff_dst and, with a rectifier, dst.
struct DiffSrc : Element {
  static constexpr const char* name = "norm diff_src";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const Channel& c = channel_at(table, planes.channel(i));
    const double x = in(0, i), g = gradient(in, relu, i), a = c.scale * c.inverse,
                 of_shift = c.diff_shift.value / m, of_scale = c.diff_scale.value / m,
                 normal = (x - c.mean.value) * c.inverse,
                 reach = (std::fabs(x) + std::fabs(c.mean.value)) * c.inverse;
    const double rounding =
        6 * u * (std::fabs(g) + std::fabs(of_shift) + 2 * reach * std::fabs(of_scale));
    const auto error = [&](double shift, double scale) {
      return std::fabs(a) * ((shift + std::fabs(normal) * scale) / m + rounding);
    };
    return bound.rounded(a * (g - of_shift - normal * of_scale),
                         error(c.diff_shift.most, c.diff_scale.most),
                         error(c.diff_shift.typical, c.diff_scale.typical));
  }
};

/// The inputs are those of DiffSrc.
struct DiffAddend : Element {
  static constexpr const char* name = "norm diff_addend";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    return {gradient(in, relu, i), 0, 0};
  }
};

/// The sums from which mean and variance are computed: of x, |x|, x^2 and x^4.
struct SourceSums {
  static constexpr const char* name = "norm source sums";
  static constexpr int terms = 4;
  static constexpr int magnitudes[terms] = {1, 1, 2, 3};  ///< the sum that bounds each
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double*, std::int64_t i, double* term) const {
    const double x = in(0, i);
    term[0] = x;
    term[1] = std::fabs(x);
    term[2] = x * x;
    term[3] = term[2] * term[2];
  }
};

/// Sums of (x - mean)^2.
struct CentredSums {
  static constexpr const char* name = "norm centred sums";
  static constexpr int terms = 1;
  static constexpr int magnitudes[terms] = {0};
  Planes planes;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i,
                             double* term) const {
    const double centred = in(0, i) - channel_at(table, planes.channel(i)).mean.value;
    term[0] = centred * centred;
  }
};

/// Sums of g, |g|, g^2, g (x - mean) inverse, and |r| and r^2 of r = g (|x| + |mean|) inverse. The
/// inputs are those of DiffSrc.
struct GradientSums {
  static constexpr const char* name = "norm gradient sums";
  static constexpr int terms = 6;
  static constexpr int magnitudes[terms] = {1, 1, 2, 4, 4, 5};
  Planes planes;
  bool relu = false;
  template <class In>
  ASSAY_ITEM void operator()(const In& in, const double* table, std::int64_t i,
                             double* term) const {
    const Channel& c = channel_at(table, planes.channel(i));
    const double x = in(0, i), g = gradient(in, relu, i),
                 reach = g * (std::fabs(x) + std::fabs(c.mean.value)) * c.inverse;
    term[0] = g;
    term[1] = std::fabs(g);
    term[2] = g * g;
    term[3] = g * (x - c.mean.value) * c.inverse;
    term[4] = std::fabs(reach);
    term[5] = reach * reach;
  }
};

}  // namespace assay::norm
