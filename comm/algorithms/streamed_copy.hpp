#pragma once
// Copies that leave the caches alone.

#include <cstddef>

#include "core/communicator.hpp"

namespace assay {

/// A copy whose destination is written past the caches, where the processor can: the lines of a
/// destination that is not in a cache are then not read before they are written, which is a third
/// of a copy's memory traffic. Other threads and processes see it after streamed_fence(). Buffers
/// of one type that do not overlap.
void streamed_copy(Buffer into, Buffer from);
void streamed_fence();

/// The bytes of a destination from which it is worth it: four second-level caches (of 1 MiB where
/// the size is unknown). That is measured on one machine: two ranks of a Sapphire Rapids (2 MiB)
/// lose 5 % at 8 MiB and gain 1.3 to 1.6 times at 64 MiB. Elsewhere, above all where third-level
/// caches are large, it is a guess, which costs time and nothing else. The greatest number where no
/// instruction for it is known here.
std::size_t streamed_from_bytes();

}  // namespace assay
