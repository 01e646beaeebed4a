#pragma once
// Signed offsets as indices.

#include <cstddef>
#include <cstdint>

namespace assay {

/// Converts an offset to an unsigned index. Offsets are computed with signed sizes and strides,
/// whose intermediate results may be negative; `at` itself must not be.
inline std::size_t place(std::int64_t at) { return static_cast<std::size_t>(at); }

}  // namespace assay
