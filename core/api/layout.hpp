#pragma once
// Layouts that are not row-major, as sums of one term a dimension: enough for channels-last and for
// channels in blocks.

#include <cstdint>
#include <vector>

#include "core/api/tensor.hpp"

namespace assay {

/// Where element i of one logical dimension lies: (i / block) * outer + (i % block) * inner
/// elements from the first.
struct Split {
  std::int64_t block, outer, inner;
  bool operator==(const Split&) const = default;
};

/// One split a dimension; the rest of `elements` is padding.
struct Layout {
  std::vector<Split> splits;
  std::int64_t elements;
  /// Where the elements lie among other data of the memory (TensorSpec::memory): they are cut into
  /// as many equal pieces, which begin at these elements of it. Empty: in one piece.
  std::vector<std::int64_t> pieces{};
};

/// Activations [n, c, ...] with all channels of a pixel together ("nhwc").
Layout channels_last(const std::vector<std::int64_t>& dims);
/// Activations [n, c, ...] in planes of `block` channels of a pixel ("nChw16c").
Layout channel_blocks(const std::vector<std::int64_t>& dims, std::int64_t block);

/// Whether two tensors of equal dimensions and type have every element at the same place (strides
/// of dimensions of extent 1, and how a stride is written down, do not count); false where either
/// is opaque or in pieces.
bool same_places(const TensorSpec& a, const TensorSpec& b);

/// Copies the elements of `spec`, which has dimensions, from row-major order at `packed` to where
/// `layout` has them, piece behind piece; padding becomes zero.
void place(const TensorSpec& spec, const Layout& layout, const void* packed, void* placed);
/// The reverse: from where `layout` has them to row-major order.
void pack(const TensorSpec& spec, const Layout& layout, const void* placed, void* packed);

}  // namespace assay
