#pragma once
// Host memory in the blocked layouts of native kernels.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/host_device.hpp"

namespace assay::native {

/// Where element i of one logical dimension lies: (i / block) * outer + (i % block) * inner
/// elements from the first.
struct Split {
  std::int64_t block, outer, inner;
};

/// The layout of a TensorSpec: one split a dimension; the rest of `elements` is padding, and zero.
struct Layout {
  std::vector<Split> splits;
  std::int64_t elements;
};

class NativeDevice final : public Device {
 public:
  std::string name() const override { return host_.name(); }
  Stream& stream() override { return host_.stream(); }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override { return host_.allocate(spec); }
  void put(Tensor& tensor, const Source& source) override;
  void get(Tensor& tensor, const Sink& sink) override;
  std::size_t memory_available() const override { return host_.memory_available(); }
  std::size_t cache_bytes() const override { return host_.cache_bytes(); }
  double reorder_seconds() const override { return reorder_seconds_; }

 private:
  HostDevice host_;
  double reorder_seconds_ = 0;
};

}  // namespace assay::native
