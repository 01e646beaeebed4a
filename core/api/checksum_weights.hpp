#pragma once
// Random weights of a checksum over all elements of a tensor: the sum of w(i) * value(i). With
// equal weights a permutation of the elements would leave the sum as it is.

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The weight of an element is the product of one factor for each of its indices, so that a sum
/// over outputs can be exchanged with the sums that the outputs are made of. Factors are integers
/// of magnitude 1 to 8 with a random sign: sums of integers stay exact in fp64, and two elements
/// that differ in one index have the same weight in one of 16 draws.
class ChecksumWeights {
 public:
  ChecksumWeights(std::span<const std::int64_t> dims, std::uint64_t seed);

  std::size_t dims() const { return dims_.size(); }
  /// Factor of `index` in dimension `dim`.
  double factor(std::size_t dim, std::int64_t index) const {
    const Factors& factors = factors_[dim];
    return factors.within[static_cast<std::size_t>(index % block)] *
           factors.of_block[static_cast<std::size_t>(index / block)];
  }
  /// Factors of all indices of a dimension; for dimensions that a caller holds whole.
  std::vector<double> factors(std::size_t dim) const;
  /// Weights of the elements [first, first + out.size()) in logical row-major order.
  void fill(std::int64_t first, std::span<double> out) const;
  /// Mean square of the weights: variance of the checksum over that of one element's error.
  double mean_square() const;

 private:
  /// A long dimension repeats one block of factors, each time with a sign of its own: memory stays
  /// small for arrays of billions of elements.
  static constexpr std::int64_t block = 4096;
  struct Factors {
    std::vector<double> within, of_block;
  };
  std::vector<std::int64_t> dims_;
  std::vector<Factors> factors_;
  std::size_t outer_ = 0;      ///< dimensions before those that `inner_` multiplies out
  std::vector<double> inner_;  ///< weights of one run of the inner dimensions; at most 65536
};

}  // namespace assay
