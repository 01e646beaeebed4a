#pragma once
// Compares the Hessian matrix of Newton's method with the rows, by its product with a vector, in
// fp64.

#include <span>

#include "models/analytics/relations.hpp"
#include "models/svm/svm.hpp"

namespace assay {

/// A run with right P and gradient may have a wrong Hessian matrix: it then takes more steps, or
/// ends before it reaches its gap. H v = sum over 0 < s < 1 of (x, 1) ((x, 1) . v) needs no matrix.
class HessianCheck {
 public:
  /// `roundoff`: the error of f, relative to the norm of its terms. `type`: of the table. `hessian`
  /// must outlive the check.
  HessianCheck(const SvmHessian& hessian, DataType type, double roundoff)
      : hessian_(hessian), type_(type), roundoff_(roundoff) {}
  /// The number of sums over rows: 0 if there is no Hessian matrix.
  std::size_t sums() const { return 3 * hessian_.w.size(); }
  void add_row(const double* x, double y, std::span<double> sums) const;
  /// The element of H v with the largest difference relative to its bound.
  Relation relation(std::span<const double> sums, double rows) const;

 private:
  const SvmHessian& hessian_;
  DataType type_;
  double roundoff_;
};

}  // namespace assay
