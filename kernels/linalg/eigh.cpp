// Judges whether eigenvalues and eigenvectors belong to the matrix. Eigenvectors are not unique
// (signs, and any basis of a cluster), so they are judged as in LAPACK's own tests: by the residual
// and the orthogonality. These two together prove that the eigenvectors are exact for a nearby
// matrix. Bounds: docs/method-linalg.md.

#include <cmath>

#include "kernels/linalg/oracles.hpp"
#include "kernels/linalg/relation_oracle.hpp"

namespace assay::linalg {
namespace {

/// Threshold of the tests of LAPACK's linear solvers, here in units of sqrt(d) u.
constexpr double largest_ratio = 30;

/// The parts of the symmetric matrix that are known; its lower triangle is given.
struct Symmetric {
  Block product;  ///< of the matrix and the vectors
  double frobenius = 0;
  long double trace = 0;
};

/// Reads the lower triangle row by row.
Symmetric times(const Values& a, std::int64_t d, const Block& y) {
  Symmetric result{Block(y.size())};
  double squares = 0;
#pragma omp parallel reduction(+ : squares)
  {
    long double trace = 0;  // no reduction: clang 14 would need a library for atomics of 16 bytes
    std::vector<double> row(static_cast<std::size_t>(d));
    Block part(y.size());
#pragma omp for schedule(dynamic, 16)
    for (std::int64_t i = 0; i < d; ++i) {
      a.fill(i * d, std::span(row).first(static_cast<std::size_t>(i + 1)));
      const double* const y_i = &y[static_cast<std::size_t>(i * vectors)];
      double* const part_i = &part[static_cast<std::size_t>(i * vectors)];
      for (std::int64_t j = 0; j < i; ++j) {
        const double element = row[static_cast<std::size_t>(j)];
        squares += 2 * element * element;
        for (std::int64_t v = 0; v < vectors; ++v) {
          const auto at = static_cast<std::size_t>(j * vectors + v);
          part_i[v] += element * y[at];
          part[at] += element * y_i[v];
        }
      }
      const double diagonal = row[static_cast<std::size_t>(i)];
      squares += diagonal * diagonal;
      trace += diagonal;
      for (std::int64_t v = 0; v < vectors; ++v) part_i[v] += diagonal * y_i[v];
    }
#pragma omp critical
    {
      for (std::size_t i = 0; i < part.size(); ++i) result.product[i] += part[i];
      result.trace += trace;
    }
  }
  result.frobenius = std::sqrt(squares);
  return result;
}

/// m y of a matrix [d,d], row-major; with `transposed`, m^T y.
Block times(const std::vector<double>& m, std::int64_t d, const Block& y, bool transposed) {
  Block product(y.size());
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j) {
      const double element = m[static_cast<std::size_t>(i * d + j)];
      const std::int64_t to = transposed ? j : i, from = transposed ? i : j;
      for (std::int64_t v = 0; v < vectors; ++v)
        product[static_cast<std::size_t>(to * vectors + v)] +=
            element * y[static_cast<std::size_t>(from * vectors + v)];
    }
  return product;
}

Block minus(Block left, const Block& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] -= right[i];
  return left;
}

class EighOracle final : public RelationOracle {
 public:
  using RelationOracle::RelationOracle;

  std::vector<Relation> relations(const Inputs& inputs, const Outputs& outputs, const Execution&,
                                  std::uint64_t seed) const override {
    const std::int64_t d = problem_.shape().d;
    const std::vector<double>&w = outputs.find("w")->second, &v = outputs.find("v")->second;
    const Block z = random_vectors(d, seed), vz = times(v, d, z, false);
    const Symmetric a = times(inputs.find("a")->second, d, vz);
    Block wz = z;
    long double sum = 0;
    double descents = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      for (std::size_t k = 0; k < vectors; ++k) wz[i * vectors + k] *= w[i];
      sum += w[i];
      if (i > 0 && w[i] < w[i - 1]) ++descents;
    }
    const double root = std::sqrt(static_cast<double>(d)), of_z = norm(z);
    const double residual = norm(minus(a.product, times(v, d, wz, false)));
    const double skew = norm(minus(times(v, d, vz, true), z));
    const double bound = largest_ratio * root * unit_roundoff(storage(problem_.precision()));
    return {{"order", "number of w[i] > w[i + 1]", descents, 0},
            {"residual", "||a v - v diag(w)||_F / ||a||_F, by random vectors",
             residual / of_z * root / a.frobenius, bound},
            {"orthogonality", "||v^T v - 1||_F / sqrt(d), by random vectors", skew / of_z, bound},
            {"trace", "|sum(w) - trace(a)| / ||a||_F",
             std::abs(static_cast<double>(sum - a.trace)) / a.frobenius, bound}};
  }

  /// Rounding a to the 11 bits of tf32 (to the 24 of fp32) alone makes a residual of 0.378 units.
  double widest_norm_bound() const override {
    return 0.378 * (problem_.precision() == Precision::fp32 ? 0x1p-11 : 0x1p-24);
  }
};

}  // namespace

std::unique_ptr<Oracle> make_eigh_oracle(const LinalgProblem& problem) {
  return std::make_unique<EighOracle>(problem);
}

}  // namespace assay::linalg
