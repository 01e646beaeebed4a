#pragma once
// Error bounds of convolution: docs/method-conv.md derives every formula here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conv/problem.hpp"

namespace assay::convolution {

/// Name of an accumulator (Executed::accumulate) with fp32's digits that drops what does not fit,
/// as tensor cores do: CUDA's name of rounding towards zero.
inline constexpr const char* truncating_fp32 = "fp32_rz";

/// What the reference knows of one output element's sum of products.
struct Terms {
  double value = 0;     ///< sum
  double squares = 0;   ///< sum of squared products, ||ab||_2^2
  double absolute = 0;  ///< sum of |products|, ||ab||_1
  std::int64_t count = 0;
};

enum class Method { direct, winograd, fft };
/// The way of summation behind an algorithm's name; names that say nothing ("", "auto") are held to
/// the direct bound.
Method method(const Executed& executed);

/// Largest growth of the standard deviation of rounding errors in F(outputs x outputs, taps x taps)
/// Winograd over one direct sum, from the Cook-Toom transforms with the points 0, 1, -1, 2, -2,
/// 1/2, -1/2, 4, -4, … and infinity.
double winograd_amplification(int outputs, int taps);

/// Relative 2-norm error, about, of sums of products whose two operands were rounded to tf32 (each
/// by at most u = 2^-11, 0.43 u in the root mean square of uniform significands). An fp32 result
/// whose norm bound is wider could come from tf32 arithmetic.
inline constexpr double error_of_tf32 = 3e-4;

/// Points of the largest Winograd transform for which the bounds were derived and compared with
/// computed errors: F(6x6, 3x3). The tile that a backend declares widens its bound, so a larger one
/// is not believed.
inline constexpr int most_winograd_points = 8;

/// Why results of `executed` cannot be judged, if they cannot.
std::optional<std::string> unjudged(const ConvProblem& problem, const Executed& executed);

/// Mean of squares, and maximum, of evenly spaced elements.
struct Moments {
  double mean_square = 0, largest = 0;
};
Moments moments(const Values& values, std::int64_t elements);

/// Natural logarithm of a bound of P(|sum of `count` independent zero-mean products| > limit)
/// (Bernstein), for products of mean square `mean_square` and magnitude at most `largest`; very
/// negative: cannot happen.
double log_tail(double count, double mean_square, double largest, double limit);

class ErrorModel {
 public:
  /// `samples`: how many outputs are judged together (the more, the further the largest error, and
  /// the steadier the norm).
  ErrorModel(const ConvProblem& problem, const Executed& executed, std::size_t samples,
             double mean_square_product);
  Expected expected(const Terms& terms) const;

  /// Unit roundoff that results of this problem are held to, by what executed says of its
  /// accumulator, never coarser than the storage.
  static double accumulator_roundoff(Precision precision, const Executed& executed);

 private:
  Method method_;
  bool exact_;               ///< integer arithmetic
  double u_, u_out_, tiny_;  ///< accumulator, output type, and half the distance of the output's
                             ///< smallest subnormals
  double deviations_, norm_deviations_, norm_rounding_;
  double gaussian_,
      norm_gaussian_;     ///< the same of sums of independent errors, whose tail is light
  bool rounds_operands_;  ///< to tf32, before they are multiplied
  bool truncates_;        ///< the accumulator drops digits instead of rounding
  double variance_ = 0;   ///< of a transformed algorithm's error over u^2 * squares
  double rounding_ = 0;   ///< of the rounding of what is stored between its steps, likewise
  double nominal_squares_ = 0;
};

/// Storage type of the output, and its significand's bits (integers exactly held: |v| <= 2^bits).
int significand_bits(DataType type);

}  // namespace assay::convolution
