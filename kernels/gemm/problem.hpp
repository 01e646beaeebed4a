#pragma once
// Matrix multiplication as in BLAS, for each matrix of a batch: C = alpha op(A) op(B) + beta C.
//
// op(A) is m x k, op(B) k x n, C m x n; op transposes if `ta` or `tb` is given. Matrices are stored
// by columns, as in BLAS, cuBLAS and DeepBench. A leading dimension is the number of elements from
// one column of the stored matrix to the next. The matrices of a batch are adjacent. Logical
// layouts (row-major, which is then the order in memory):
//   a [batch, k, lda], with ta [batch, m, lda];  b [batch, n, ldb], with tb [batch, k, ldb];
//   c [batch, n, ldc]
// The tensors include the padding between columns: implementations must not use it in a and b, nor
// change it in c.

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

  /// Rows of A and B as they are stored, which are the smallest leading dimensions.
  std::int64_t a_rows() const { return ta ? k : m; }
  std::int64_t b_rows() const { return tb ? n : k; }
  std::int64_t a_columns() const { return ta ? m : k; }
  std::int64_t b_columns() const { return tb ? k : n; }
};

/// Parses "m1760n128k1760", followed by any of b<batch>, lda<n>, ldb<n>, ldc<n>, alpha<x>, beta<x>
/// and the flags ta and tb; or benchdnn's "MxK:KxN" and "BxMxK:BxKxN". Defaults: batch 1, alpha 1,
/// beta 0, leading dimensions as small as possible. InputError names the field that is unknown,
/// missing, given twice, zero, negative or over 64 bits, a leading dimension that is too small, an
/// alpha of 0, a number that is not finite.
GemmShape parse_gemm(const std::string& descriptor);
/// The normalised descriptor, which omits defaults: parse_gemm(to_descriptor(s)) == s.
std::string to_descriptor(const GemmShape& shape);

class GemmProblem final : public ShapedProblem<GemmProblem, GemmShape> {
 public:
  static constexpr const char* kind_name = "gemm";
  static constexpr const char* kind_version = problem_version::gemm;
  GemmProblem(const GemmShape& shape, Precision precision);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// 2 m n k batch, without the multiplications by alpha and beta.
  double flops() const override;
  /// A and B read once, C written once, and read once if beta is not 0; without padding.
  double bytes() const override;

  /// alpha and beta, rounded to the type of the sums, which is the type that libraries take.
  double alpha() const;
  double beta() const;
  /// Specs of a, b and c in row-major order. c has Role::inout if beta is not 0, and if its columns
  /// are padded, because the padding must not change.
  std::vector<TensorSpec> tensors() const;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const GemmProblem& problem);

/// Expected values of single output elements in fp64, and error bounds (docs/method-gemm.md).
std::unique_ptr<Oracle> make_gemm_oracle(const GemmProblem& problem);

}  // namespace assay
