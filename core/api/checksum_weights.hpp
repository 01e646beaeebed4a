#pragma once
// Random weights w(i) of a checksum over all elements of a tensor: the sum of w(i) * value(i). With
// equal weights the checksum would not detect elements in the wrong order.

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

/// The weight of an element is the product of one factor for each of its indices. So the weighted
/// sum of outputs that are themselves sums (a convolution, a product of matrices) can be computed
/// cheaply, by exchanging the order of summation. Factors are integers of magnitude 1 to 8 with a
/// random sign: sums of integers stay exact in fp64, and two elements that differ in one index have
/// equal weights with probability 1/16.
class ChecksumWeights {
 public:
  ChecksumWeights(std::span<const std::int64_t> dims, std::uint64_t seed);

  /// Number of dimensions.
  std::size_t dims() const { return dims_.size(); }
  /// Factor of `index` in dimension `dim`.
  double factor(std::size_t dim, std::int64_t index) const {
    const Factors& factors = factors_[dim];
    return factors.within[static_cast<std::size_t>(index % block)] *
           factors.of_block[static_cast<std::size_t>(index / block)];
  }
  /// Factors of all indices of a dimension.
  std::vector<double> factors(std::size_t dim) const;
  /// Weights of elements [first, first + out.size()) in logical row-major order.
  void fill(std::int64_t first, std::span<double> out) const;
  /// Mean square of the weights. If the errors of n elements are independent with variance v, the
  /// checksum's error has the variance n * v * mean_square().
  double mean_square() const;

  /// A long dimension repeats one block of factors, with a random sign for each block, so that
  /// arrays of billions of elements need little memory.
  static constexpr std::int64_t block = 4096;

 private:
  struct Factors {
    std::vector<double> within, of_block;
  };
  std::vector<std::int64_t> dims_;
  std::vector<Factors> factors_;
  std::size_t outer_ = 0;      ///< number of outer dimensions; `inner_` covers the others
  std::vector<double> inner_;  ///< products of the factors of the inner dimensions; at most 65536
};

}  // namespace assay
