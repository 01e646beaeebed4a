#pragma once
// The elements of a tensor as the inputs of a reference: those of a layer inside a network.

#include <mutex>
#include <vector>

#include "core/api/device.hpp"

namespace assay {

/// Reads the tensor when the host first needs an element. It must not change as long as these
/// values are in use, unless `read_now`.
class TensorValues final : public StoredValues {
 public:
  TensorValues(Device& device, Tensor& tensor, bool read_now);
  DataType type() const override { return tensor_.spec().type; }
  void fill(std::int64_t first, std::span<double> out) const override;
  /// Null if the tensor may have changed.
  Tensor* tensor() const override { return read_now_ ? nullptr : &tensor_; }

 private:
  void read() const;

  Device& device_;
  Tensor& tensor_;
  bool read_now_;
  mutable std::once_flag once_;
  /// What fp32 holds is not stored in fp64: activations are most of the memory of a network.
  mutable std::vector<float> narrow_;
  mutable std::vector<double> wide_;
};

}  // namespace assay
