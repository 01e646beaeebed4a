#pragma once
// Copies that leave the caches alone.

#include <cstddef>
#include <cstdint>

#include "core/api/communicator.hpp"

namespace assay {

/// A copy whose destination is written past the caches, where the processor can: the lines of a
/// destination that is not in a cache are then not read before they are written, which is a third
/// of a copy's memory traffic. Other threads and processes see it after streamed_fence(). Buffers
/// of one type that do not overlap.
void streamed_copy(Buffer into, Buffer from);
void streamed_fence();

/// Whole lines are written so: the part of one would be merged in memory, not in the processor's
/// buffer. What lies before the first whole one of a destination, in bytes.
inline constexpr std::size_t streamed_line = 64;
inline std::size_t before_streamed_line(const void* destination) {
  return (streamed_line - reinterpret_cast<std::uintptr_t>(destination) % streamed_line) %
         streamed_line;
}

/// The bytes of a destination from which it is worth it: a second-level cache (1 MiB where its size
/// is unknown), for what is longer does not stay there anyway. Measured on one machine: two ranks
/// of a Sapphire Rapids (2 MiB) gain 10 % at 4 and 8 MiB; they would gain at 1 MiB, but whoever
/// reads the result would lose. Elsewhere, above all where third-level caches are large beside the
/// second, it is a guess. The greatest number where no instruction for it is known here.
std::size_t streamed_from_bytes();

}  // namespace assay
