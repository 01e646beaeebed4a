#include "core/api/layout.hpp"

#include <cstring>
#include <stdexcept>

namespace assay {
namespace {

/// Calls body(packed index, place in the layout) for each element, in parallel.
template <class Body>
void for_each_place(const TensorSpec& spec, const Layout& layout, const Body& body) {
  const std::size_t dims = spec.dims.size();
  const std::int64_t width = spec.dims[dims - 1], rows = spec.elements() / width;
  const auto at_dimension = [&](std::size_t dimension, std::int64_t at) {
    const Split& split = layout.splits[dimension];
    return at / split.block * split.outer + at % split.block * split.inner;
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t base = 0, rest = row;
    for (std::size_t d = dims - 1; d-- > 0;) {
      base += at_dimension(d, rest % spec.dims[d]);
      rest /= spec.dims[d];
    }
    for (std::int64_t x = 0; x < width; ++x)
      body(row * width + x, base + at_dimension(dims - 1, x));
  }
}

/// Calls `body` with a value of an integer type of `size` bytes, which is enough to copy elements.
template <class Body>
void dispatch(std::size_t size, const Body& body) {
  switch (size) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    case 8:
      return body(std::uint64_t{});
    default:
      throw std::logic_error("no element type has this size");
  }
}

/// The normal form of a split: splits that give equal positions have equal normal forms.
Split normal(const Split& split, std::int64_t extent) {
  if (extent == 1) return {1, 0, 0};
  if (split.block >= extent) return {1, split.inner, 0};
  if (split.block == 1) return {1, split.outer, 0};
  if (split.outer == split.block * split.inner) return {1, split.inner, 0};
  return split;
}

/// The splits of all dimensions, in normal form.
std::vector<Split> find_splits(const TensorSpec& spec) {
  std::vector<Split> splits(spec.dims.size());
  std::int64_t stride = 1;
  for (std::size_t d = spec.dims.size(); d-- > 0; stride *= spec.dims[d])
    splits[d] = normal(spec.layout ? spec.layout->splits[d] : Split{1, stride, 0}, spec.dims[d]);
  return splits;
}

}  // namespace

Layout channels_last(const std::vector<std::int64_t>& dims) {
  Layout layout{std::vector<Split>(dims.size()), 1};
  layout.splits[1] = {1, 1, 0};
  std::int64_t stride = dims[1];
  for (std::size_t d = dims.size(); d-- > 2; stride *= dims[d]) layout.splits[d] = {1, stride, 0};
  layout.splits[0] = {1, stride, 0};
  layout.elements = stride * dims[0];
  return layout;
}

void lay_channels_last(std::vector<TensorSpec>& specs) {
  for (TensorSpec& spec : specs)
    if (spec.dims.size() == 4)
      spec.layout = std::make_shared<const Layout>(channels_last(spec.dims));
}

Layout channel_blocks(const std::vector<std::int64_t>& dims, std::int64_t block) {
  Layout layout{std::vector<Split>(dims.size()), 1};
  std::int64_t stride = block;
  for (std::size_t d = dims.size(); d-- > 2; stride *= dims[d]) layout.splits[d] = {1, stride, 0};
  layout.splits[1] = {block, stride, 1};
  stride *= (dims[1] + block - 1) / block;
  layout.splits[0] = {1, stride, 0};
  layout.elements = stride * dims[0];
  return layout;
}

bool same_places(const TensorSpec& a, const TensorSpec& b) {
  if (a.opaque || b.opaque || a.dims != b.dims || a.type != b.type) return false;
  for (const TensorSpec* spec : {&a, &b})
    if (spec->layout && !spec->layout->pieces.empty()) return false;
  return find_splits(a) == find_splits(b);
}

void place(const TensorSpec& spec, const Layout& layout, const void* packed, void* placed) {
  dispatch(size_of(spec.type), [&](auto kind) {
    const auto* const from = static_cast<const decltype(kind)*>(packed);
    auto* const to = static_cast<decltype(kind)*>(placed);
    if (layout.elements > spec.elements())
      std::memset(to, 0, static_cast<std::size_t>(layout.elements) * sizeof kind);
    for_each_place(spec, layout, [=](std::int64_t i, std::int64_t at) { to[at] = from[i]; });
  });
}

void pack(const TensorSpec& spec, const Layout& layout, const void* placed, void* packed) {
  dispatch(size_of(spec.type), [&](auto kind) {
    const auto* const from = static_cast<const decltype(kind)*>(placed);
    auto* const to = static_cast<decltype(kind)*>(packed);
    for_each_place(spec, layout, [=](std::int64_t i, std::int64_t at) { to[i] = from[at]; });
  });
}

}  // namespace assay
