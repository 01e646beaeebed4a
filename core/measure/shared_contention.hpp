#pragma once
// The contention of a whole job, from that of its ranks.

#include <optional>

#include "core/api/communicator.hpp"
#include "core/machine/contention.hpp"

namespace assay {

/// Collective. The largest value of any rank; nothing if no rank knows it.
std::optional<double> worst(const std::optional<double>& mine, Communicator& ranks);

/// Collective. Extends the averages of this rank (between()) to the job: `own` becomes the sum over
/// the ranks on this rank's host, `stolen` and `throttled` the largest value of any rank, and
/// `foreign` the largest value of any host (nothing if a host cannot tell). Only processors that
/// some rank on the host may use count. `processors`: their number, if counters do not distinguish
/// processors; 0: the online ones.
void share(Contention& averages, Communicator& ranks, double processors = 0);

}  // namespace assay
