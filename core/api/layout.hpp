#pragma once
// Layouts that are not row-major, as sums of one term a dimension: enough for channels-last and for
// channels in blocks. What TensorSpec::layout holds in backends that use it.

#include <cstdint>
#include <vector>

#include "core/api/tensor.hpp"

namespace assay {

/// Where element i of one logical dimension lies: (i / block) * outer + (i % block) * inner
/// elements from the first.
struct Split {
  std::int64_t block, outer, inner;
};

/// One split a dimension; the rest of `elements` is padding.
struct Layout {
  std::vector<Split> splits;
  std::int64_t elements;
  /// Where the elements lie among other data of the memory (TensorSpec::memory): they are cut into
  /// as many equal pieces, which begin at these elements of it. Empty: in one piece.
  std::vector<std::int64_t> pieces{};
};

/// Copies the elements of `spec`, which has dimensions, from row-major order at `packed` to where
/// `layout` has them, piece behind piece; padding becomes zero.
void place(const TensorSpec& spec, const Layout& layout, const void* packed, void* placed);
/// The way back.
void pack(const TensorSpec& spec, const Layout& layout, const void* placed, void* packed);

}  // namespace assay
