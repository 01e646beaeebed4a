#pragma once
// A matrix of weights in the reference of recurrent networks, which every step multiplies. The
// device multiplies it if it has a copy and the product is large enough.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/api/prover.hpp"

namespace assay::recurrent {

class Weights {
 public:
  Weights() = default;
  /// `numbers`: [rows][columns]. `prover`: the device's, or null.
  Weights(std::int64_t rows, std::int64_t columns, std::vector<float> numbers, Prover* prover);
  void multiply(const KeptProduct& product) const;

 private:
  std::int64_t terms(const KeptProduct& p) const { return p.transposed ? p.count : rows_; }
  std::int64_t width(const KeptProduct& p) const { return p.transposed ? rows_ : p.count; }
  void on_host(const KeptProduct& product) const;
  bool on_device(const KeptProduct& product) const;
  /// Computes rows [first, first + count) of the product on the host. Does not write c.
  std::vector<double> some_rows(KeptProduct product, std::int64_t first, std::int64_t count) const;
  /// CaseError if the rows of the product from `first` on differ from the expected ones.
  void believe(const KeptProduct& product, std::int64_t first,
               const std::vector<double>& expected) const;

  std::int64_t rows_ = 0, columns_ = 0;
  std::vector<float> numbers_;
  mutable std::vector<float> transposed_;  ///< created when the host first multiplies it
  Prover* prover_ = nullptr;
  std::unique_ptr<KeptMatrix> kept_;
};

}  // namespace assay::recurrent
