#pragma once
// How far apart several ranks begin. Internal to timing.cpp.

#include "core/api/communicator.hpp"

namespace assay {

/// Seconds between the first and the last rank that leave a barrier, and so begin a sample: the
/// median of 31 barriers; 0 for one rank. Ranks of one host read the same clock. The clocks of
/// other hosts are compared with that of rank 0 by the shortest of 20 round trips (Cristian,
/// Distributed Computing 3, 1989), with an error of at most half of it. Collective.
double barrier_skew(Communicator& ranks);

}  // namespace assay
