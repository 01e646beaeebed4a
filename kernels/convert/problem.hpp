#pragma once
// Conversion of a tensor of 16-bit numbers to fp32. Networks convert gradients of filters that were
// computed in 16 bits.
//
// Tensor names: src [n] -> dst [n]. fp32 holds every 16-bit number, so every element has exactly
// one right value.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/convert.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

class ConvertProblem final : public ProblemOf<ConvertProblem> {
 public:
  static constexpr const char* kind_name = "convert";
  static constexpr const char* kind_version = problem_version::convert;
  /// InputError if n is less than 1. `precision`: the types of source and result.
  ConvertProblem(std::int64_t n, Precision precision);
  std::string canonical() const override;  ///< "n1000"
  nlohmann::json json() const override;
  double flops() const override { return 0; }  ///< 0: memory traffic bounds it
  double bytes() const override { return bytes_of_tensors(); }

  std::int64_t elements() const { return n_; }
  Precision precision() const { return precision_; }
  /// src, dst.
  std::vector<TensorSpec> tensors() const;

 private:
  std::int64_t n_;
  Precision precision_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const ConvertProblem& problem);

/// Expected values of all elements, exact.
std::unique_ptr<Oracle> convert_oracle(const ConvertProblem& problem);

}  // namespace assay
