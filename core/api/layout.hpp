#pragma once
// Layouts other than row-major order. The position of an element is a sum of one term for each
// dimension; this covers channels-last ("nhwc") and blocks of channels ("nChw16c").

#include <cstdint>
#include <vector>

#include "core/api/tensor.hpp"

namespace assay {

/// The term of one logical dimension: index i adds (i / block) * outer + (i % block) * inner
/// elements to the position.
struct Split {
  std::int64_t block, outer, inner;
  bool operator==(const Split&) const = default;
};

/// A layout of a tensor.
struct Layout {
  std::vector<Split> splits;  ///< one for each dimension, outermost first
  std::int64_t elements;      ///< number of positions, padding included
  /// For a tensor that shares its memory (TensorSpec::memory) with other data: the positions are
  /// cut into pieces of equal length, and piece k begins at element pieces[k] of the memory. Empty:
  /// one piece, which begins at element 0.
  std::vector<std::int64_t> pieces{};
};

/// Activations [n, c, ...] with the channels of a pixel adjacent ("nhwc").
Layout channels_last(const std::vector<std::int64_t>& dims);
/// Gives this layout to all tensors of four dimensions.
void lay_channels_last(std::vector<TensorSpec>& specs);
/// Activations [n, c, ...] in blocks of `block` channels; the channels of a block are adjacent
/// ("nChw16c"). The last block is padded.
Layout channel_blocks(const std::vector<std::int64_t>& dims, std::int64_t block);

/// True if two tensors of equal dimensions and type have every element at the same position. Two
/// descriptions of the same positions are equal, and strides of dimensions of extent 1 do not
/// count. False if a tensor is opaque or in pieces.
bool same_places(const TensorSpec& a, const TensorSpec& b);

/// Copies the elements of `spec` from row-major order at `packed` to their positions in `layout` at
/// `placed`, with the pieces one after the other. Padding becomes zero. `spec` must have
/// dimensions.
void place(const TensorSpec& spec, const Layout& layout, const void* packed, void* placed);
/// The reverse: from the positions in `layout` to row-major order.
void pack(const TensorSpec& spec, const Layout& layout, const void* placed, void* packed);

}  // namespace assay
