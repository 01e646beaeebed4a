#pragma once
// The times between the beginnings of several ranks. Internal to timing.cpp.

#include "core/api/communicator.hpp"

namespace assay {

/// Seconds between the first and the last rank that leave a barrier, and so begin a sample: the
/// median of 31 barriers, by clocks that measure_clock_offset() aligns; 0 for one rank. Collective.
double barrier_skew(Communicator& ranks);

}  // namespace assay
