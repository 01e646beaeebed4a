#pragma once
// Contention of a whole job.

#include "core/api/communicator.hpp"
#include "core/machine/contention.hpp"

namespace assay {

/// Makes of this rank's averages those of the job: `own` of all ranks on this rank's host, and
/// `foreign`, that of the host that has most. All ranks call it. `processors`: of this host; 0: as
/// many as are online.
void share(Contention& averages, Communicator& ranks, double processors = 0);

}  // namespace assay
