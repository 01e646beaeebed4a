#pragma once
// Finds slow ranks in a workload that is one collective: rounds of equal work of each rank, then
// the collective, as in a job that trains. The samples contain no work that could be late.

#include "core/api/communicator.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct RoundsOptions {
  double run_seconds = 0;  ///< of a run of the workload
  double max_time = 5;     ///< TimingOptions::max_time, of which the rounds may take a tenth
  JobNetwork network{};    ///< of the collective
};

/// Rounds work as long as a run takes, 2 to 20 ms. There are at least 16, for which a run may be
/// too long: the reason is then in Blame::unsupported. Leaves no batch and no deadline set in
/// `sampler`. Collective. Throws as Sampler::settle() does.
Blame blame_in_rounds(Workload& workload, Sampler& sampler, Communicator& ranks,
                      const RoundsOptions& options);

}  // namespace assay
