#include "kernels/native/device.hpp"

#include <chrono>
#include <cstring>

namespace assay::native {
namespace {

/// Calls body(index of a packed element, its place in the layout) for each element, in parallel.
template <class Body>
void for_each_place(const TensorSpec& spec, const Layout& layout, const Body& body) {
  const std::size_t dims = spec.dims.size();
  const std::int64_t width = spec.dims[dims - 1], rows = spec.elements() / width;
  const auto place = [&](std::size_t dimension, std::int64_t at) {
    const Split& split = layout.splits[dimension];
    return at / split.block * split.outer + at % split.block * split.inner;
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t base = 0, rest = row;
    for (std::size_t d = dims - 1; d-- > 0;) {
      base += place(d, rest % spec.dims[d]);
      rest /= spec.dims[d];
    }
    for (std::int64_t x = 0; x < width; ++x) body(row * width + x, base + place(dims - 1, x));
  }
}

template <class Element>
void reorder(const TensorSpec& spec, const Layout& layout, void* packed, void* own, bool in) {
  auto* const plain = static_cast<Element*>(packed);
  auto* const placed = static_cast<Element*>(own);
  if (in) {
    std::memset(own, 0, static_cast<std::size_t>(layout.elements) * sizeof(Element));
    for_each_place(spec, layout, [&](std::int64_t i, std::int64_t at) { placed[at] = plain[i]; });
  } else {
    for_each_place(spec, layout, [&](std::int64_t i, std::int64_t at) { plain[i] = placed[at]; });
  }
}

/// Between a packed tensor and one in its layout, by elements of the same size.
double timed_reorder(Tensor& tensor, void* packed, bool in) {
  const TensorSpec& spec = tensor.spec();
  const auto& layout = *static_cast<const Layout*>(spec.layout.get());
  const auto start = std::chrono::steady_clock::now();
  if (size_of(spec.type) == 2)
    reorder<std::uint16_t>(spec, layout, packed, tensor.data(), in);
  else
    reorder<std::uint32_t>(spec, layout, packed, tensor.data(), in);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
