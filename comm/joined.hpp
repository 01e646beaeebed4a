#pragma once
// Builds the workload of a case of assay-collectives: joins the transport, then adds the algorithm,
// the layers and the buffers.

#include <memory>
#include <string>

#include "core/program/benchmark.hpp"

namespace assay {

struct CollectivesSettings;  // collectives_benchmark.hpp

/// The value of --transport for the transport that the launched ranks have joined already: the MPI
/// of the launcher.
inline constexpr const char* launched_transport = "auto";

/// The transport that reads GPU memory; the others read memory of the host.
inline constexpr const char* gpu_transport = "nccl";

/// The ranks of `context`, connected by the settings transport, algorithm and wire of `options`,
/// for calls on memory of the host, or, over gpu_transport, of the GPU of each rank. Collective.
Result<std::unique_ptr<Communicator>> connect_ranks(const Options& options, CaseContext& context);

/// The network of collectives over this transport (the setting), with its ranks; null: the launched
/// ranks.
JobNetwork job_network(const std::string& transport, Communicator* ranks);

/// The workload of one case. Collective.
Result<std::unique_ptr<Workload>> make_collective_workload(const Case& wanted,
                                                           const CollectivesSettings& collectives,
                                                           CaseContext& context);

}  // namespace assay
