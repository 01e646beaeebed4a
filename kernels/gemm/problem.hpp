#pragma once
// Matrix multiplication as in BLAS: C = alpha op(A) op(B) + beta C, of a batch of matrices.
//
// Matrices are stored by columns, as BLAS, cuBLAS and DeepBench have them: op(A) is m x k, op(B)
// k x n, C m x n; op is the transpose where `ta` or `tb` is given. A leading dimension is the
// number of elements from one column of the stored matrix to the next; matrices of a batch follow
// each other. Logical layouts (row-major, so that they are the memory's order):
//   a [batch, k, lda], with ta [batch, m, lda];  b [batch, n, ldb], with tb [batch, k, ldb];
//   c [batch, n, ldc]
// What lies between the end of a column and the next one belongs to the tensors: implementations
// must not use it in a and b, nor change it in c.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/gemm.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// Extents, all in elements.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool ta = false, tb = false;
  double alpha = 1, beta = 0;
  bool operator==(const GemmShape&) const = default;

  /// Rows of A and of B as they are stored: the least leading dimensions.
  std::int64_t a_rows() const { return ta ? k : m; }
  std::int64_t b_rows() const { return tb ? n : k; }
  std::int64_t a_columns() const { return ta ? m : k; }
  std::int64_t b_columns() const { return tb ? k : n; }
};

/// "m1760n128k1760", with any of b<batch>, lda<n>, ldb<n>, ldc<n>, alpha<x>, beta<x>, ta and tb
/// (flags) after it; or benchdnn's "MxK:KxN" and "BxMxK:BxKxN". By default batch is 1, alpha 1,
/// beta 0, and a leading dimension the rows of the stored matrix. InputError names the field:
/// unknown, missing, twice, zero, negative, over 64 bits, a leading dimension below the stored
/// rows, an alpha of 0, a number that is not finite.
GemmShape parse_gemm(const std::string& descriptor);
/// The normalised descriptor, without what is the default: parse_gemm(to_descriptor(s)) == s.
std::string to_descriptor(const GemmShape& shape);

class GemmProblem final : public ProblemOf<GemmProblem> {
 public:
  static constexpr const char* kind_name = "gemm";
  static constexpr const char* kind_version = problem_version::gemm;
  GemmProblem(const GemmShape& shape, Precision precision);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// 2 m n k batch: the multiplications by alpha and beta are not counted.
  double flops() const override;
  /// A and B read once, C written, and read where beta is not 0; without what pads columns.
  double bytes() const override;

  const GemmShape& shape() const { return shape_; }
  Precision precision() const { return precision_; }
  /// alpha and beta in the type of the sums, as libraries take them.
  double alpha() const;
  double beta() const;
  /// Specs of a, b and c, row-major bytes. c is in-out where beta is not 0, and where columns of C
  /// are padded: the padding must stay.
  std::vector<TensorSpec> tensors() const;

 private:
  GemmShape shape_;
  Precision precision_;
};

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const GemmProblem& problem);

/// fp64 values of single outputs and their bounds (docs/method-gemm.md).
std::unique_ptr<Oracle> gemm_oracle(const GemmProblem& problem);

}  // namespace assay
