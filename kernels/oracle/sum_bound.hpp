#pragma once
// The error bound of one sum of products, on the host or on a device (core/api/item_code.hpp).
// kernels/oracle/sums.hpp makes it; docs/method-conv.md derives the formulas.

#include <cstring>

#include "core/api/expected.hpp"

namespace assay::sums {

/// A value before it is rounded to its type, and the largest error that an implementation may have.
struct Approximate {
  double value = 0, error = 0;
};

/// The error of an implementation's exp and log, at most, in units in the last place.
inline constexpr double of_functions = 8;

/// The largest error of rounding a number of this magnitude to the nearest number of a type with
/// the unit roundoff u. It is half the distance between the type's numbers there: u 2^floor(log2
/// size).
ASSAY_ITEM double half_step(double u, double size) {
  std::uint64_t bits = 0;
  memcpy(&bits, &size, sizeof bits);
  bits &= 0x7ff0000000000000;  // of the exponent
  double power = 0;
  memcpy(&power, &bits, sizeof power);
  return u * power;
}

/// Number of equal terms that an implementation may add one after the other. If they are added to
/// sums within one binade, their rounding errors are equal, too.
inline constexpr double longest_equal_chain = 361;

/// Largest error of a sum of m equal terms, or of equal terms and zeros; 0 for random terms, which
/// are never equal. docs/method-norm.md derives it.
ASSAY_ITEM double error_of_equal(double m, double absolute, bool random, double u) {
  const double chain = m < longest_equal_chain ? m : longest_equal_chain;
  return random ? 0 : u * chain / 3 * absolute;
}

/// Bound of the relative error of a tensor core's tf32 operands. They keep 11 significant bits;
/// libraries round or truncate the others, so the error is below 2^-10.
inline constexpr double u_tf32 = 0x1p-10;
/// Standard deviation of the relative error of a product of two such operands (method-conv.md).
inline constexpr double tf32_deviation = 0.76 * u_tf32;

/// Numbers below it are subnormal in fp32 and bf16. Processors may read and write them as 0; the
/// AMX and AVX-512 instructions for bf16 products always do.
inline constexpr double least_normal = 0x1p-126;
ASSAY_ITEM bool is_subnormal(double value) { return std::fabs(value) < least_normal; }

/// The reference's values for the sum of products of one output element.
struct Terms {
  double value = 0;        ///< sum
  double squares = 0;      ///< sum of squared products, ||ab||_2^2
  double absolute = 0;     ///< sum of |products|, ||ab||_1
  std::int64_t count = 0;  ///< number of products
  double subnormal = 0;    ///< part of `absolute` whose products have a subnormal factor; not of
                           ///< random data
};

struct SumBound {
  bool exact = false;                 ///< integer arithmetic
  double u = 0, u_out = 0, tiny = 0;  ///< of the accumulator; of the output type; half the distance
                                      ///< of the output type's subnormal numbers
  double deviations = 0, norm_deviations = 0;
  /// The same for sums of independent errors, whose distribution has light tails.
  double gaussian = 0, norm_gaussian = 0;
  bool rounds_operands = false;  ///< to tf32, before they are multiplied
  bool truncates = false;        ///< the accumulator drops digits instead of rounding
  double at_once = 0;            ///< products that a truncating accumulator adds at once
  double parts = 0;              ///< partial_sums; 0: sums are not split

  /// The expected value with bounds that include the rounding of the result itself. The norm
  /// includes the rounding with its certain bound, because one element may be nearly all of the
  /// norm. `most`, `typical`: largest and typical error before the rounding.
  ASSAY_ITEM Expected rounded(double value, double most, double typical) const {
    const double size = std::fabs(value), least = size + most > 0 ? tiny : 0;
    return {value, most + u_out * (size + most) + least,
            typical + half_step(u_out, size + most) + least};
  }

  ASSAY_ITEM Expected expected(const Terms& terms) const {
    if (exact) return {terms.value, 0, 0};
    const double k = static_cast<double>(terms.count);
    double most = 0, typical = 0;
    add_sum(terms, k, most, typical);
    if (parts > 1) {
      // The number of parts is unknown. The bounds are largest at one part or at the largest
      // number, so both are tried.
      double most_of_parts = 0, typical_of_parts = 0;
      add_sum(terms, std::ceil(k / parts), most_of_parts, typical_of_parts);
      add_parts(terms, most_of_parts, typical_of_parts);
      most = take_larger(most, most_of_parts);
      typical = take_larger(typical, typical_of_parts);
    }
    if (rounds_operands) {
      const double norm = std::sqrt(terms.squares), never_more = 2.001 * u_tf32 * terms.absolute;
      most += take_smaller(never_more, gaussian * 2 * u_tf32 * norm);
      typical += take_smaller(never_more, norm_gaussian * tf32_deviation * norm);
    }
    return rounded(terms.value, most, typical);
  }

  /// The same for elements of a plane; those of a network may be equal.
  ASSAY_ITEM Expected of_plane(const Terms& terms, bool random) const {
    Expected all = expected(terms);
    const double equal =
        error_of_equal(static_cast<double>(terms.count), terms.absolute, random, u);
    if (equal > 0)
      all.rms_bound = take_larger(
          all.rms_bound, equal + half_step(u_out, std::fabs(terms.value) + all.max_bound) + tiny);
    return all;
  }

 private:
  ASSAY_ITEM static double take_smaller(double a, double b) { return b < a ? b : a; }
  ASSAY_ITEM static double take_larger(double a, double b) { return b > a ? b : a; }

  /// The errors of sums of k products each; `terms` is their total.
  ASSAY_ITEM void add_sum(const Terms& terms, double k, double& most, double& typical) const {
    const double deviation = u * std::sqrt((k + 3) / 6 * terms.squares);
    if (truncates) {
      // At most k + k/4 errors of 2u each, all towards zero; the mean of the random walk gives the
      // probable error.
      const double norm = std::sqrt(terms.squares),
                   drift = u * std::ceil(k / at_once) / std::sqrt(3.0) * norm;
      const double never_more = 3 * k * u * terms.absolute;
      most += take_smaller(never_more, 2 * deviations * deviation + gaussian * drift);
      typical += take_smaller(never_more, 2 * norm_deviations * deviation + norm_gaussian * drift);
      return;
    }
    // Every product passes at most k roundings, whatever the order of summation: gamma_k *
    // ||ab||_1.
    const double certain = k * u < 0.5 ? k * u / (1 - k * u) * terms.absolute : terms.absolute;
    most += take_smaller(certain, deviations * deviation);
    typical += take_smaller(certain, norm_deviations * deviation);
  }

  /// Each part is rounded, then each sum of parts, whose mean square is half of the final one's.
  /// The sums of parts walk to a known value. This walk is a straight line plus a bridge, and the
  /// squares of a bridge have a lighter tail than those of a free walk.
  ASSAY_ITEM void add_parts(const Terms& terms, double& most, double& typical) const {
    const double walk = std::sqrt((parts / 2 + 1) / 3 * terms.squares),
                 line = std::sqrt((parts / 3 + 0.5) / 3) * std::fabs(terms.value),
                 bridge = std::sqrt((parts + 6) / 3 * terms.squares) / (2 * std::sqrt(2.0));
    most += u_out * take_smaller(deviations * walk, gaussian * line + deviations * bridge);
    typical += u_out * norm_deviations * walk;
  }
};

}  // namespace assay::sums
