#pragma once
// The element-wise sum of two tensors. Networks use it for the gradients of a tensor that several
// layers read, and to add the gradients of several batches.
//
// Tensor names: a [n], b [n] -> dst [n]; in place: a (in-out), b. All have the type of the
// precision. A sum of two numbers is rounded once, so every element has exactly one correct value.

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
  /// InputError if n is less than 1. `in_place`: a = a + b.
  SumProblem(std::int64_t n, Precision precision, bool in_place = false);
  std::string canonical() const override;  ///< "n1000", "in_place_n1000"
  nlohmann::json json() const override;
  double flops() const override { return 0; }  ///< 0: memory traffic bounds it
  double bytes() const override;               ///< two tensors read, one written

  std::int64_t elements() const { return n_; }
  Precision precision() const { return precision_; }
  bool in_place() const { return in_place_; }
  /// a, b and, unless in place, dst.
  std::vector<TensorSpec> tensors() const;

 private:
  std::int64_t n_;
  Precision precision_;
  bool in_place_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const SumProblem& problem);

/// Expected values of all elements, exactly rounded.
std::unique_ptr<Oracle> make_sum_oracle(const SumProblem& problem);

}  // namespace assay
