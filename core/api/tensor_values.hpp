#pragma once
// The elements of a tensor as the inputs of a reference: those of a layer inside a network.

#include <vector>

#include "core/api/device.hpp"

namespace assay {

/// A copy of the tensor's elements. Later writes to the tensor do not change it.
class TensorValues final : public StoredValues {
 public:
  TensorValues(Device& device, Tensor& tensor);
  DataType type() const override { return type_; }
  void fill(std::int64_t first, std::span<double> out) const override;

 private:
  DataType type_;
  /// What fp32 holds is not stored in fp64: activations are most of the memory of a network.
  std::vector<float> narrow_;
  std::vector<double> wide_;
};

}  // namespace assay
