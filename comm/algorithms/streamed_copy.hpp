#pragma once
// Copies with non-temporal stores, which bypass the caches.

#include <cstddef>
#include <cstdint>

#include "core/api/communicator.hpp"

namespace assay {

/// Copies with non-temporal stores where the processor has them. They do not read the lines of the
/// destination before writing them, which saves a third of a copy's memory traffic. The data are
/// visible to other threads and processes after fence_streamed(). The buffers have the same type
/// and do not overlap.
void copy_streamed(Buffer into, Buffer from);
void fence_streamed();

/// Only whole cache lines are stored with non-temporal stores, since a partial line would be merged
/// in memory. before_streamed_line: bytes before the first whole line of a destination.
inline constexpr std::size_t streamed_line = 64;
inline std::size_t before_streamed_line(const void* destination) {
  return (streamed_line - reinterpret_cast<std::uintptr_t>(destination) % streamed_line) %
         streamed_line;
}

/// The size of a destination above which streamed copies may be faster: the size of the
/// second-level cache (1 MiB if unknown), since longer data do not stay in it. Only a measurement
/// shows if they are: on a Sapphire Rapids (2 MiB) two ranks gain 10 % at 4 and 8 MiB; on a
/// Zen-4-class processor with ordinary buffers they may lose half. The largest std::size_t if the
/// processor has no such stores.
std::size_t find_least_streamed_bytes();

}  // namespace assay
