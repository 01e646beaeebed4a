#pragma once
// Parts of references that the GPU computes, by the code of the formulas in proof_formulas.hpp.

#include <map>

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
  /// Calls work(), and returns true. Returns false if the host must do the work.
  template <class Work>
  bool by_kernels(DataType type, const Work& work) {
    try {
      return device_.by_kernels(type, work);
    } catch (const MemoryShortage&) {
      return false;
    }
  }
  /// Compares the elements from `at` on with the formula's expectations for the range.
  std::optional<ElementComparison> compare(Tensor& output, std::int64_t at, ElementRange range,
                                           const ElementFormula& formula, const Inputs& inputs);
  /// True if the GPU finds the same faults in a tensor of the type as the host. At the first call
  /// for a formula, plants faults beside the GPU's expected values, which the host has checked.
  bool finds_faults(DataType type, ElementRange range, const ElementFormula& formula,
                    const Inputs& inputs);
  /// a[m x k] b[k x n], row by row, in memory that the next call overwrites.
  const double* multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                         std::int64_t lda, const float* b, std::int64_t ldb);

  KernelDevice& device_;
  std::map<std::string, bool> finds_faults_;  ///< by formula, type and elements
  std::shared_ptr<void> staging_;             ///< of the host, page-locked
  std::size_t staging_bytes_ = 0;
};

}  // namespace assay::cuda
