#pragma once
// A workload that reads a staged set, with what staging has cost and whether it was right.

#include <memory>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/input/stage.hpp"

namespace assay {

/// `inner` with the metrics of the staging. Its checks also fail if the shared files were not each
/// read once (fault_of_staging()) or, after the timed runs, if a file in the folder of a node no
/// longer has the checksum with which its reader has read it. `ranks` must outlive the workload.
std::unique_ptr<Workload> make_staged_workload(std::unique_ptr<Workload> inner, StagedSet staged,
                                               Communicator& ranks);

}  // namespace assay
