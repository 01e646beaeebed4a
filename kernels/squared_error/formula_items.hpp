#pragma once
// The reference of the squared error as code of one thread, on the host or on a device
// (core/api/formula.hpp, kernels/oracle/part_of_sum.hpp). Definitions and shapes:
// kernels/squared_error/problem.hpp.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::squared_error {

/// Inputs: outputs x and targets t. Table: 2 scale / features / samples.
struct DiffOutputs {
  static constexpr const char* name = "squared error diff_outputs";
  sums::SumBound bound;
  double u = 0;
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    const double gradient = table[0] * (in(0, i) - in(1, i)),
                 error = 4 * u * std::fabs(gradient);  // difference, factor twice, product
    return bound.rounded(gradient, error, error);
  }
};

/// Sums of products over the features of a sample: [kind, samples]. Inputs as above. Deviations are
/// differences from the first number of a sample, so that equal numbers have none.
struct Products {
  static constexpr const char* name = "squared error part of a sum";
  enum Kind : std::int64_t {
    difference,  ///< (x - t)^2
    output,
    target,  ///< of deviations x' and t'
    output_square,
    target_square,
    both  ///< of x' and t' less their means; the table has two means for each sample
  };
  std::int64_t samples = 1, features = 1;
  template <class In>
  ASSAY_ITEM bool read(const In& in, const double* table, std::int64_t sum, std::int64_t feature,
                       double& a, double& b) const {
    const std::int64_t n = sum % samples, first = n * features, at = first + feature;
    const auto kind = static_cast<Kind>(sum / samples);
    const double x = in(0, at), t = in(1, at);
    if (kind == difference) {
      a = b = x - t;
      return true;
    }
    const double of_x = x - in(0, first), of_t = t - in(1, first);
    if (kind == output || kind == target) {
      a = kind == output ? of_x : of_t;
      b = 1;
      return true;
    }
    a = kind == target_square ? of_t - table[2 * n + 1] : of_x - table[2 * n];
    b = kind == output_square ? of_x - table[2 * n] : of_t - table[2 * n + 1];
    return true;
  }
};

}  // namespace assay::squared_error
