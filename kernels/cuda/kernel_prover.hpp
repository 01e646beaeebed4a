#pragma once
// Parts of references that the GPU computes, by the code of the formulas in proof_formulas.hpp.

#include "core/api/prover.hpp"
#include "kernels/cuda/kernel_device.hpp"

namespace assay::cuda {

class KernelProver final : public Prover {
 public:
  explicit KernelProver(KernelDevice& device) : device_(device) {}
  std::optional<ElementComparison> compare(Tensor& output, ElementRange range,
                                           const ElementFormula& formula,
                                           const Inputs& inputs) override;
  std::optional<std::vector<Expected>> expect(const ElementFormula& formula, const Inputs& inputs,
                                              std::span<const std::int64_t> indices) override;
  std::optional<std::vector<double>> sum(const ElementFormula& formula, const Inputs& inputs,
                                         const Channels& over) override;
  std::unique_ptr<KeptMatrix> keep(std::int64_t rows, std::int64_t columns,
                                   const float* numbers) override;
  bool multiply(const KeptMatrix& matrix, const KeptProduct& product) override;

 private:
  /// a[m x k] b[k x n], row by row, in memory that the next call overwrites.
  const double* multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                         std::int64_t lda, const float* b, std::int64_t ldb);

  KernelDevice& device_;
  std::shared_ptr<void> staging_;  ///< of the host, page-locked
  std::size_t staging_bytes_ = 0;
};

}  // namespace assay::cuda
