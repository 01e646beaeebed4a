#pragma once
// Error bounds of sums of products, for all operations. docs/method-conv.md derives the formulas.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/api/oracle.hpp"
#include "kernels/oracle/sum_bound.hpp"

namespace assay::sums {

/// Name of an accumulator (Execution::accumulate) with the digits of fp32 that truncates, as tensor
/// cores do. _rz is CUDA's suffix for rounding towards zero.
inline constexpr const char* truncating_fp32 = "fp32_rz";

/// Name of the accumulator of products of 8-bit floating types: 14 significant bits and the
/// exponent of fp32, truncating (docs/method-gemm.md).
inline constexpr const char* truncating_fp22 = "fp22_rz";
inline constexpr double u_fp22 = 0x1p-14;

/// The number that Execution reports for sums that are split: about how many parts, which are
/// stored and added in 16 bits (Execution::accumulate). A tensor core computes the sum of each
/// part.
inline constexpr const char* partial_sums = "partial_sums";
/// More parts than these do not widen the bounds further.
inline constexpr double most_parts = 32;

/// Approximate relative 2-norm error of sums of products whose two operands were rounded to tf32
/// (each by at most u = 2^-11; for uniform significands the root mean square is 0.43 u). With a
/// larger bound of the norm, fp32 results could not be distinguished from tf32 results.
inline constexpr double error_of_tf32 = 3e-4;
/// Oracle::widest_norm_bound of sums of products.
double widest_norm_bound(Precision precision);

/// Logarithm of a probability that counts as zero for any number of outputs and partial sums:
/// exp(-60) = 1e-26.
inline constexpr double never = -60;

/// For terms that are not random (Values::random), such as those of a network: A partial sum of K
/// products may be as large as the sum of all magnitudes, so the variance of a sum's rounding
/// errors is at most (u^2 / 3) K ||ab||_1^2; for random data it is (u^2 / 6) K ||ab||_2^2.
inline Terms of_any_data(Terms terms) {
  terms.squares = 2 * terms.absolute * terms.absolute;
  return terms;
}

/// The part of a sum that may be lost if subnormal numbers become 0: the products of such factors,
/// and each other product or the sum to which it is added. 0 for types whose products cannot become
/// so small (fp16), or whose subnormal numbers are preserved (fp64). Random data have no such
/// products.
double bound_flushed(Precision precision, const Terms& terms);

/// Sums products. The reference of fp64 problems must be more precise than fp64: `compensated` sums
/// use Dot2, which is as precise as twice the precision (T. Ogita, S. M. Rump and S. Oishi,
/// Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005). Products of narrower types are
/// exact in fp64, whose roundoff is negligible beside theirs.
class Sum {
 public:
  /// `random`: the data are random, so no factor is subnormal.
  explicit Sum(bool compensated, bool random = true) : compensated_(compensated), random_(random) {}
  void add(const double* a, const double* b, std::int64_t count);
  Terms terms() const { return {sum_ + low_, squares_, absolute_, count_, subnormal_}; }

 private:
  void note(double product);
  bool compensated_, random_;
  double sum_ = 0, low_ = 0, squares_ = 0, absolute_ = 0, subnormal_ = 0;
  std::int64_t count_ = 0;
};

/// Mean square and largest magnitude of a sample of evenly spaced elements.
struct Moments {
  double mean_square = 0, largest = 0;
};
Moments moments(const Values& values, std::int64_t elements);

/// Natural logarithm of an upper bound of P(|sum of `count` independent products| > limit), by
/// Bernstein's inequality, for products with mean 0, mean square `mean_square` and magnitude at
/// most `largest`; very negative if it is impossible.
double log_tail(double count, double mean_square, double largest, double limit);

/// Number of bits of a type's significand; integers up to 2^bits are exact.
int significand_bits(DataType type);

/// The element type of this name, or `otherwise` for other names ("tf32", "", "int8").
DataType type_or(const std::string& name_of_type, DataType otherwise);

/// The largest m such that sums of `k` products of integers in [-m, m] are exact in the arithmetic
/// of `executed`, for inputs of type `in`; 0 if there is no such m. With `scale` and `added`, the
/// results scale * sum + added * (an integer in [-m, m]) must be exact, too.
int exact_magnitude(Precision precision, const Execution& execution, DataType in, double k,
                    double scale = 1, double added = 0);

/// Oracle::full_magnitude of an integer argument.
int full_magnitude(DataType type);

/// The smallest number of products that a tensor core adds at once: of 16-bit operands, and of
/// 8-bit ones.
inline constexpr double products_at_once = 4, fp8_products_at_once = 16;

/// Variance of the error of a sum of `terms` products, over u^2 times their squared norm. The order
/// is sequential, the worst of all. `truncates`: the accumulator drops digits.
double variance_of_sum(double terms, bool truncates);
/// Number of standard deviations that the largest of `samples` rounding errors exceeds with the
/// probability of a false alarm, 1e-9. The error of a running sum is a Gaussian mixture over random
/// walks, with tail exp(-pi x / (2 sqrt 2)): much heavier than a Gaussian's.
double most_deviations(std::size_t samples);
/// True if the accumulator truncates (truncating_fp32, truncating_fp22). fp32 and fp64 problems do
/// not allow that, so false for them, whatever the backend reports.
bool drops_digits(Precision precision, const Execution& execution);

/// Error bounds of direct sums in any order.
class ErrorModel : public SumBound {
 public:
  /// `samples`: number of outputs that are judged together. With more of them, the largest error is
  /// larger, and the norm varies less.
  ErrorModel(Precision precision, const Execution& execution, std::size_t samples);

  /// Unit roundoff of the accumulator that `executed` reports, but at most the largest that the
  /// precision allows.
  static double accumulator_roundoff(Precision precision, const Execution& execution);
};

}  // namespace assay::sums
