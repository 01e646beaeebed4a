#pragma once
// The contention of a whole job, from that of its ranks.

#include "core/api/communicator.hpp"
#include "core/machine/contention.hpp"

namespace assay {

/// Collective. Extends the averages of this rank (between()) to the job: `own` becomes the sum over
/// the ranks on this rank's host, and `foreign` the largest value of any host (nothing if a host
/// cannot tell). `processors`: number of processors of this host; 0: those that are online.
void share(Contention& averages, Communicator& ranks, double processors = 0);

}  // namespace assay
