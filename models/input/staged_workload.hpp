#pragma once
// A workload that reads a staged set, and reports the cost and the correctness of the staging.

#include <memory>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/input/stage.hpp"

namespace assay {

/// `inner` with the metrics of the staging. Its checks also fail if the shared files were not read
/// exactly once (find_fault_of_staging()) or if, after the timed runs, a file in the folder of a
/// node has another checksum than its reader computed. `ranks` must outlive the workload.
std::unique_ptr<Workload> make_staged_workload(std::unique_ptr<Workload> inner, StagedSet staged,
                                               Communicator& ranks);

}  // namespace assay
