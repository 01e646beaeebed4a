#pragma once
// Error bounds of convolution: docs/method-conv.md derives every formula here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conv/problem.hpp"
#include "kernels/conv/sums.hpp"

namespace assay::convolution {

using sums::error_of_tf32;
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
/// The way of summation behind an algorithm's name; names that say nothing ("", "auto") are held to
/// the direct bound.
Method method(const Executed& executed);

/// Largest growth of the standard deviation of rounding errors in F(outputs x outputs, taps x taps)
/// Winograd over one direct sum, from the Cook-Toom transforms with the points 0, 1, -1, 2, -2,
/// 1/2, -1/2, 4, -4, … and infinity.
double winograd_amplification(int outputs, int taps);

/// Points of the largest Winograd transform for which the bounds were derived and compared with
/// computed errors: F(6x6, 3x3). The tile that a backend declares widens its bound, so a larger one
/// is not believed.
inline constexpr int most_winograd_points = 8;

/// Why results of `executed` cannot be judged, if they cannot.
std::optional<std::string> unjudged(const ConvProblem& problem, const Executed& executed);

class ErrorModel : public sums::ErrorModel {
 public:
  ErrorModel(const ConvProblem& problem, const Executed& executed, std::size_t samples,
             double mean_square_product);
  Expected expected(const Terms& terms) const;

 private:
  Method method_;
  double variance_ = 0;  ///< of a transformed algorithm's error over u^2 * squares
  double rounding_ = 0;  ///< of the rounding of what is stored between its steps, likewise
  double nominal_squares_ = 0;
};

}  // namespace assay::convolution
