#pragma once
// Error bounds of convolution: docs/method-conv.md derives every formula here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/conv/problem.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay::convolution {

using sums::log_tail;
using sums::Moments;
using sums::moments;
using sums::never;
using sums::products_at_once;
using sums::significand_bits;
using sums::Sum;
using sums::Terms;
using sums::truncating_fp32;
using sums::type_or;
using sums::u_tf32;

enum class Method { direct, winograd, fft };
/// The method of summation of an algorithm. An unknown algorithm ("", "auto") must satisfy the
/// bound of `direct`, which is the tightest.
Method method(const Execution& execution);

/// Growth of the variance of rounding errors in one dimension of F(outputs x outputs, taps x taps)
/// Winograd over one direct sum, for each output of a tile, from the Cook-Toom transforms with the
/// points 0, 1, -1, 2, -2, 1/2, -1/2, 4, -4, … and infinity.
std::vector<double> compute_winograd_amplifications(int outputs, int taps);

/// Number of points of the largest Winograd transform, F(6x6, 3x3), for which bounds were derived
/// and compared with computed errors. The bound grows with the tile that a backend declares, so
/// results with a larger tile are not accepted.
inline constexpr int most_winograd_points = 8;

/// The reason why results of `executed` cannot be judged; nothing if they can
/// (Oracle::why_unjudgeable).
std::optional<std::string> explain_unjudged(const ConvProblem& problem, const Execution& execution);

class ErrorModel : public sums::ErrorModel {
 public:
  /// `indices`: the outputs that are judged, if their products are of one size. If it is empty, the
  /// norm is that of the least accurate output of a tile.
  ErrorModel(const ConvProblem& problem, const Execution& execution, std::size_t samples,
             double mean_square_product, std::span<const std::int64_t> indices = {});
  Expected expected(const Terms& terms) const;

 private:
  Method method_;
  double variance_ = 0;     ///< variance of a transformed algorithm's error, over u^2 * squares
  double rounding_ = 0;     ///< the same of the roundings of values stored between its steps
  double typical_ = 1;      ///< deviation of a typical output over that of the least accurate one
  double norm_stages_ = 1;  ///< of the norm: how many times `rounding_` unknown stages may add
  double nominal_squares_ = 0;
};

}  // namespace assay::convolution
