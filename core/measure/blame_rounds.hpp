#pragma once
// Finds slow ranks in a workload that is one collective: rounds of equal work of each rank, then
// the collective, as in a job that trains. The samples of such a workload contain no work that
// could make a rank late.

#include "core/api/communicator.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct RoundsOptions {
  double run_seconds = 0;  ///< of a run of the workload
  double max_time = 5;     ///< TimingOptions::max_time, the rounds may take a tenth of it
  JobNetwork network{};    ///< of the collective
};

/// The work of a round takes as long as a run, within 2 to 20 ms. There are at least 16 rounds; if
/// runs are too long for that, Blame::unsupported has the reason. Resets batch and deadline of
/// `sampler`. Collective. Throws as Sampler::settle() does.
Blame blame_in_rounds(Workload& workload, Sampler& sampler, Communicator& ranks,
                      const RoundsOptions& options);

}  // namespace assay
