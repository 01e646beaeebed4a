#pragma once
// The dense kernels of data analysis, over a table of n observations (rows) of d features.
//
// Logical layouts, row-major:
//   syrk   x [n,d] -> c [d,d] = x^T x, both triangles: the Gram matrix of PCA and of least squares

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/problem_version/linalg.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class LinalgKernel { syrk };
/// Names of kernels, in the enumeration's order.
const std::vector<std::string>& linalg_kernel_names();

struct LinalgShape {
  LinalgKernel kernel = LinalgKernel::syrk;
  std::int64_t n = 0, d = 0;
  bool operator==(const LinalgShape&) const = default;
};

/// "syrk:n262144d250" (kernel, observations, features). InputError names the field: unknown,
/// missing, twice, zero, negative, too large.
LinalgShape parse_linalg(const std::string& descriptor);
/// The normalised descriptor: parse_linalg(to_descriptor(s)) == s.
std::string to_descriptor(const LinalgShape& shape);

class LinalgProblem final : public ProblemOf<LinalgProblem> {
 public:
  static constexpr const char* kind_name = "linalg";
  static constexpr const char* kind_version = problem_version::linalg;
  LinalgProblem(const LinalgShape& shape, Precision precision)
      : shape_(shape), precision_(precision) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// syrk: n d (d + 1), the distinct elements of c alone, as LAPACK counts it (LAPACK Working Note
  /// 41, table of operation counts).
  double flops() const override;
  /// x read once, c written.
  double bytes() const override;

  const LinalgShape& shape() const { return shape_; }
  Precision precision() const { return precision_; }
  /// Inputs, then outputs.
  std::vector<TensorSpec> tensors() const;

 private:
  LinalgShape shape_;
  Precision precision_;
};

/// fp64 values of single outputs and their bounds (docs/method-linalg.md).
std::unique_ptr<Oracle> linalg_oracle(const LinalgProblem& problem);

}  // namespace assay
