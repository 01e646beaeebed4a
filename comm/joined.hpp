#pragma once
// From a case of assay-collectives to what is timed: transport, algorithm, buffers.

#include <memory>
#include <string>

#include "comm/collective.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

/// The transport that a plugin gives over the ranks of `context`, joined once for all cases that
/// want it alike. Where some ranks can and others cannot, CaseError names one of them. Collective.
Result<Communicator*> join_transport(const std::string& name, const Options& options,
                                     CaseContext& context);

/// The workload of one case. Collective.
Result<std::unique_ptr<Workload>> collective_workload(const Case& one, const CollectiveShape& shape,
                                                      CaseContext& context);

}  // namespace assay
