#pragma once
// Kernels of data analysis, on a table of n observations (rows) with d features (columns).
//
// Logical layouts are row-major. Inputs have the type of the problem's precision. Sums over
// observations are fp64, except c of syrk, which has the type of its input, as in BLAS.
//   syrk           x [n,d] -> c [d,d] = x^T x, both triangles: the Gram matrix
//   moments        x [n,d], shift [d] -> sums [d] = sum_i (x_i - shift),
//                  gram [d,d] = sum_i (x_i - shift)(x_i - shift)^T, both triangles. PCA computes
//                  its covariance matrix from them, with a shift near the mean
//   eigh           a [d,d] (symmetric; only the lower triangle is read) -> eigenvalues w [d],
//                  ascending; v [d,d], whose columns are the orthonormal eigenvectors
//   qr             x [n,d], n >= d -> r [d,d], upper triangular with diagonal >= 0, where x = q r
//   kmeans_assign  x [n,d], centroids [k,d] -> labels [n] (s32): index of the nearest centroid, the
//                  lowest of equally near ones; sums [k,d] and counts [k] (fp64) of the
//                  observations of each centroid; inertia [1] = sum_i ||x_i -
//                  centroids[labels_i]||^2
//   hinge          x [n,d], y [n], w [d + 1] (its last element is the intercept), slope [1]:
//                  with z_i = 1 - y_i (x_i w[:d] + w[d]) and s_i = min(max(slope z_i, 0), 1)
//                  -> s [n], losses [4] = {sum max(z, 0), sum s, sum s z, sum s^2},
//                  direction [d + 1] = sum_i s_i y_i (x_i, 1)
//   hinge_hessian  x [n,d], s [n] -> h [d + 1, d + 1] = sum over 0 < s_i < 1 of (x_i, 1)(x_i, 1)^T,
//                  both triangles
// hinge computes the objective of a linear support vector machine and, if slope > 0, that of its
// smoothed form. The smoothed loss is slope z^2 / 2 up to z = 1 / slope, then z - 1 / (2 slope);
// its sum over all observations is sum s z - sum s^2 / (2 slope). s are its derivatives, and C s is
// feasible for the dual problem (docs/method-linalg.md).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/problem_version/linalg.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

enum class LinalgKernel { syrk, moments, eigh, qr, kmeans_assign, hinge, hinge_hessian };
const NameTable<LinalgKernel>& get_name_table(LinalgKernel);

struct LinalgShape {
  LinalgKernel kernel = LinalgKernel::syrk;
  std::int64_t n = 0;  ///< observations; 0 for eigh, which has none
  std::int64_t d = 0;  ///< features
  std::int64_t k = 0;  ///< centroids of kmeans_assign; 0 for others
  bool operator==(const LinalgShape&) const = default;
};

/// Parses "syrk:n262144d250" (kernel, observations, features), "eigh:d250" or
/// "kmeans_assign:n262144d250k3". InputError names the field that is unknown, missing, given twice,
/// zero, negative or too large.
LinalgShape parse_linalg(const std::string& descriptor);
/// The normalised descriptor: parse_linalg(to_descriptor(s)) == s.
std::string to_descriptor(const LinalgShape& shape);

class LinalgProblem final : public ShapedProblem<LinalgProblem, LinalgShape> {
 public:
  static constexpr const char* kind_name = "linalg";
  static constexpr const char* kind_version = problem_version::linalg;
  LinalgProblem(const LinalgShape& shape, Precision precision) : ShapedProblem(shape, precision) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// Operations, as LAPACK counts them if it does (LAPACK Working Note 41, appendix C):
  ///   syrk           n d (d + 1): one triangle of c
  ///   moments        the same
  ///   eigh           9 d^3: the symmetric QR algorithm with all eigenvectors (Golub and Van Loan,
  ///                  Matrix Computations, section 8.3)
  ///   qr             2 d^2 (n - d / 3): r without q
  ///   kmeans_assign  n d (2 k + 1)
  ///   hinge          4 n (d + 1)
  ///   hinge_hessian  half of syrk with d + 1 features: the sum includes half of the rows, since
  ///                  half of the random s (Values::Kind::mantissa) lie between 0 and 1
  double flops() const override;

  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;
};

/// Expected values of single output elements in fp64, and error bounds (docs/method-linalg.md).
std::unique_ptr<Oracle> make_linalg_oracle(const LinalgProblem& problem);

}  // namespace assay
