#pragma once
// The sum of two tensors, element by element: of the gradients that reach one tensor of a network
// by two ways, or of those of several batches.
//
// Tensor names: a [n], b [n] -> dst [n], all in the precision's storage; in place: a (in-out),
// b. Sums of two numbers are rounded once, in every precision, so every element has one right
// value.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/sum.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

class SumProblem final : public ProblemOf<SumProblem> {
 public:
  static constexpr const char* kind_name = "sum";
  static constexpr const char* kind_version = problem_version::sum;
  /// InputError where n is below 1. `in_place`: a = a + b.
  SumProblem(std::int64_t n, Precision precision, bool in_place = false);
  std::string canonical() const override;  ///< "n1000", "in_place_n1000"
  nlohmann::json json() const override;
  double flops() const override { return 0; }  ///< 0: memory traffic is what this costs
  double bytes() const override;               ///< two tensors read, one written

  std::int64_t elements() const { return n_; }
  Precision precision() const { return precision_; }
  bool in_place() const { return in_place_; }
  /// a, b, and dst where it is not in place.
  std::vector<TensorSpec> tensors() const;

 private:
  std::int64_t n_;
  Precision precision_;
  bool in_place_;
};

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const SumProblem& problem);

/// All elements, each exactly rounded.
std::unique_ptr<Oracle> sum_oracle(const SumProblem& problem);

}  // namespace assay
