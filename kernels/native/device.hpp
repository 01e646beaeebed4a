#pragma once
// Host memory in the blocked layouts of native kernels.

#include <memory>

#include "core/api/host_device.hpp"
#include "core/api/layout.hpp"

namespace assay::native {

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
