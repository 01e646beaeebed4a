#include "kernels/linalg/relation_oracle.hpp"

#include <cmath>
#include <stdexcept>

namespace assay::linalg {

void RelationOracle::expect(const TensorSpec&, const Inputs&, const Execution&, bool,
                            std::span<const std::int64_t>, std::span<Expected>) const {
  throw std::logic_error("a factorization is judged by relations, not by single elements");
}

Block random_vectors(std::int64_t d, std::uint64_t seed) {
  Block block(static_cast<std::size_t>(d * vectors));
  Values(Values::Kind::mantissa, seed, "random vectors", DataType::fp64, 0).fill(0, block);
  return block;
}

double norm(const Block& block) {
  double squares = 0;
  for (const double element : block) squares += element * element;
  return std::sqrt(squares);
}

}  // namespace assay::linalg
