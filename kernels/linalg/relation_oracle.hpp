#pragma once
// The base of the oracles of matrix factorizations. All outputs are judged by relations, which
// multiply the factors by random vectors. A product of a matrix and a vector takes one operation
// for each element, so checking a factorization is much cheaper than computing it.

#include <cstdint>
#include <vector>

#include "kernels/linalg/problem.hpp"

namespace assay::linalg {

class RelationOracle : public Oracle {
 public:
  explicit RelationOracle(const LinalgProblem& problem) : problem_(problem) {}
  bool is_judged_by_relations(const TensorSpec&) const final { return true; }
  void expect(const TensorSpec&, const Inputs&, const Execution&, bool,
              std::span<const std::int64_t>, std::span<Expected>) const final;

 protected:
  LinalgProblem problem_;
};

/// Number of random vectors. For a matrix m with d columns and random vectors z [d, vectors] with
/// independent elements of mean 0, ||m z||_F sqrt(d) / ||z||_F estimates ||m||_F (Hutchinson). With
/// 8 vectors the estimate is less than a fifth of ||m||_F with a probability of 10^-4. A single
/// wrong column, row or element of m affects every product.
inline constexpr std::int64_t vectors = 8;

/// Vectors of d elements, row-major [d, vectors]: column v is vector v.
using Block = std::vector<double>;
/// Vectors with elements that are uniform in (-1, 1).
Block random_vectors(std::int64_t d, std::uint64_t seed);
/// ||.||_F
double norm(const Block& block);

}  // namespace assay::linalg
