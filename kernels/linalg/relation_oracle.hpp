#pragma once
// What the oracles of matrix factorizations have in common: every output is judged by relations,
// which multiply the factors by random vectors. A product with a matrix costs as much as its number
// of elements, so that checking a factorization is cheap beside making it.

#include <cstdint>
#include <vector>

#include "kernels/linalg/problem.hpp"

namespace assay::linalg {

class RelationOracle : public Oracle {
 public:
  explicit RelationOracle(const LinalgProblem& problem) : problem_(problem) {}
  int exact_magnitude(const Executed&) const final { return 0; }  // roots of integers are not exact
  int full_magnitude(const TensorSpec&) const final { return 0; }  // there is no integer type
  bool judged_by_relations(const TensorSpec&) const final { return true; }
  std::vector<std::int64_t> sample(const TensorSpec&, double, std::uint64_t) const final;
  void expect(const TensorSpec&, const Inputs&, const Executed&, bool,
              std::span<const std::int64_t>, std::span<Expected>) const final;
  std::optional<double> checksum(const TensorSpec&, const Inputs&,
                                 const ChecksumWeights&) const final;

 protected:
  LinalgProblem problem_;
};

/// Vectors that are multiplied at once. For a matrix m and d random vectors z of independent
/// elements, zero in the mean, ||m z||_F sqrt(d) / ||z||_F estimates ||m||_F (Hutchinson): of eight
/// vectors the estimate is below a fifth of it once in 10^4 times, and one wrong column, row or
/// element of m is in every product.
inline constexpr std::int64_t vectors = 8;

/// d vectors' elements, row-major [d, vectors]: element v of row i belongs to vector v.
using Block = std::vector<double>;
/// Uniform in (-1, 1).
Block random_vectors(std::int64_t d, std::uint64_t seed);
/// ||.||_F
double norm(const Block& block);

}  // namespace assay::linalg
