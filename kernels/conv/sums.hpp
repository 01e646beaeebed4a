#pragma once
// Error bounds of sums of products, of whatever operation: docs/method-conv.md derives every
// formula here.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/api/oracle.hpp"

namespace assay::sums {

/// Name of an accumulator (Executed::accumulate) with fp32's digits that drops what does not fit,
/// as tensor cores do: CUDA's name of rounding towards zero.
inline constexpr const char* truncating_fp32 = "fp32_rz";

/// Relative 2-norm error, about, of sums of products whose two operands were rounded to tf32 (each
/// by at most u = 2^-11, 0.43 u in the root mean square of uniform significands). An fp32 result
/// whose norm bound is wider could come from tf32 arithmetic.
inline constexpr double error_of_tf32 = 3e-4;

/// exp(-60) = 1e-26: with any number of outputs and partial sums, it does not happen.
inline constexpr double never = -60;

/// What the reference knows of one output element's sum of products.
struct Terms {
  double value = 0;     ///< sum
  double squares = 0;   ///< sum of squared products, ||ab||_2^2
  double absolute = 0;  ///< sum of |products|, ||ab||_1
  std::int64_t count = 0;
};

/// The terms of data that are not independent and symmetric about zero, as a network's are not: a
/// partial sum may be as large as all magnitudes together, so that the variance of a sum's rounding
/// errors is at most (u^2 / 3) K ||ab||_1^2 where random data have (u^2 / 6) K ||ab||_2^2.
inline Terms of_any_data(Terms terms) {
  terms.squares = 2 * terms.absolute * terms.absolute;
  return terms;
}

/// Sums products. For fp64 problems the reference must be better than fp64: Ogita, Rump and Oishi's
/// Dot2, whose error is that of twice the precision. Products of narrower types are exact in fp64,
/// and its u = 2^-53 is negligible to theirs.
class Sum {
 public:
  explicit Sum(bool compensated) : compensated_(compensated) {}
  void add(const double* a, const double* b, std::int64_t count);
  Terms terms() const { return {sum_ + low_, squares_, absolute_, count_}; }

 private:
  void note(double product);
  bool compensated_;
  double sum_ = 0, low_ = 0, squares_ = 0, absolute_ = 0;
  std::int64_t count_ = 0;
};

/// Mean of squares, and maximum, of evenly spaced elements.
struct Moments {
  double mean_square = 0, largest = 0;
};
Moments moments(const Values& values, std::int64_t elements);

/// Natural logarithm of a bound of P(|sum of `count` independent zero-mean products| > limit)
/// (Bernstein), for products of mean square `mean_square` and magnitude at most `largest`; very
/// negative: cannot happen.
double log_tail(double count, double mean_square, double largest, double limit);

/// Bits of a type's significand (integers exactly held: |v| <= 2^bits).
int significand_bits(DataType type);

/// The type named, or `otherwise` for names that are no element type ("tf32", "", "int8").
DataType type_or(const std::string& name_of_type, DataType otherwise);

/// Largest magnitude m such that sums of `k` products of integers in [-m, m] are exact in
/// `executed`'s arithmetic, for inputs of type `in`; 0 where there is none. `scale` and `added`: of
/// results scale * sum + added * (an integer of the same magnitude).
int exact_magnitude(Precision precision, const Executed& executed, DataType in, double k,
                    double scale = 1, double added = 0);

/// Magnitude of the full-significand pass of an integer argument.
int full_magnitude(DataType type);

/// Operands of a tensor core in tf32: 11 significant bits, the others rounded or merely dropped, as
/// the library likes, so that the relative error is below 2^-10.
inline constexpr double u_tf32 = 0x1p-10;
/// Deviation of one product's relative error when both operands lose digits: see method-conv.md.
inline constexpr double tf32_deviation = 0.76 * u_tf32;
/// Products that a tensor core adds at once, at the least.
inline constexpr double products_at_once = 4;

/// Variance of the error of a sum of `terms` products, over u^2 times their squared norm:
/// sequential, the worst of all orders; `truncates`: by an accumulator that drops digits.
double variance_of_sum(double terms, bool truncates);
/// Whether results of a precision may come of such an accumulator, and `executed` says so. A row of
/// fp32 or fp64 promises an arithmetic of its own, whatever the backend says.
bool drops_digits(Precision precision, const Executed& executed);

/// Bounds of direct sums, in any order.
class ErrorModel {
 public:
  /// `samples`: how many outputs are judged together (the more, the further the largest error, and
  /// the steadier the norm).
  ErrorModel(Precision precision, const Executed& executed, std::size_t samples);
  Expected expected(const Terms& terms) const;

  /// Unit roundoff that results of this precision are held to, by what executed says of its
  /// accumulator, never coarser than the storage.
  static double accumulator_roundoff(Precision precision, const Executed& executed);

 protected:
  /// With the rounding of the result itself. `most`, `typical`: largest and typical error before.
  Expected rounded(double value, double most, double typical) const;

  bool exact_;               ///< integer arithmetic
  double u_, u_out_, tiny_;  ///< accumulator, output type, and half the distance of the output's
                             ///< where results are below the normal numbers
  double deviations_, norm_deviations_, norm_rounding_;
  double gaussian_,
      norm_gaussian_;     ///< the same of sums of independent errors, whose tail is light
  bool rounds_operands_;  ///< to tf32, before they are multiplied
  bool truncates_;        ///< the accumulator drops digits instead of rounding
};

}  // namespace assay::sums
