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

 private:
  KernelDevice& device_;
};

}  // namespace assay::cuda
