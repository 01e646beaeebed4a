#include "kernels/native/device.hpp"
#include "core/base/clock.hpp"

#include <chrono>

namespace assay::native {
namespace {

/// Between a packed tensor and one in its layout.
double timed_reorder(Tensor& tensor, void* packed, bool in) {
  const TensorSpec& spec = tensor.spec();
  const auto& layout = *static_cast<const Layout*>(spec.layout.get());
  const auto start = std::chrono::steady_clock::now();
  if (in)
    place(spec, layout, packed, tensor.data());
  else
    pack(spec, layout, tensor.data(), packed);
  return seconds_since(start);
}

std::unique_ptr<Tensor> packed_copy(Device& device, const TensorSpec& of) {
  TensorSpec spec = of;
  spec.layout.reset();
  spec.bytes = 0;
  return device.allocate(spec);
}

}  // namespace

void NativeDevice::put(Tensor& tensor, const Source& source) {
  if (!tensor.spec().layout) return host_.put(tensor, source);
  const std::unique_ptr<Tensor> packed = packed_copy(host_, tensor.spec());
  host_.put(*packed, source);
  reorder_seconds_ += timed_reorder(tensor, packed->data(), true);
}

void NativeDevice::get(Tensor& tensor, const Sink& sink) {
  if (!tensor.spec().layout) return host_.get(tensor, sink);
  const std::unique_ptr<Tensor> packed = packed_copy(host_, tensor.spec());
  reorder_seconds_ += timed_reorder(tensor, packed->data(), false);
  host_.get(*packed, sink);
}

}  // namespace assay::native
