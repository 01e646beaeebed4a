#pragma once
// The elements of a tensor as the inputs of a reference: those of a layer inside a network.

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/api/device.hpp"

namespace assay {

/// A copy of the tensor's elements. Later writes to the tensor do not change it. If a device
/// computes parts of references and has room, the copy is in its memory; the host then reads
/// elements when they are needed. The device must outlive it.
class TensorValues final : public StoredValues {
 public:
  TensorValues(Device& device, Tensor& tensor);
  DataType type() const override { return type_; }
  void fill(std::int64_t first, std::span<double> out) const override;
  /// The copy in the device's memory; null where only the host has one.
  Tensor* on_device() const { return copy_.get(); }

 private:
  void read_all(Tensor& tensor) const;
  void read_few(std::int64_t first, std::span<double> out) const;

  Device& device_;
  DataType type_;
  std::size_t elements_;
  std::unique_ptr<Tensor> copy_;
  mutable std::atomic<bool> on_host_ = false;
  mutable std::size_t alone_ = 0;  ///< elements that were read singly
  /// Values that fp32 holds are not stored in fp64: activations are most of a network's memory.
  mutable std::vector<float> narrow_;
  mutable std::vector<double> wide_;
};

}  // namespace assay
