#pragma once
// One collective call, or one exchange of messages, as an operation that can be verified and timed;
// and the parts that the gradient replay (replay_workload.hpp) shares with it.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/collective.hpp"
#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct CollectiveSettings {
  std::string algorithm = "library", transport{};  ///< for the row's "executed"
  bool nonblocking = false;                        ///< start the call, then wait for it
  bool registered = false;                         ///< buffers in memory of Communicator::allocate
};

/// The row's "executed" for this call: what the library reports or, for one of Assay's algorithms,
/// its name and the types in which it reduces (comm/reduce.hpp).
Execution make_executed(const CollectiveSettings& settings, const Communicator& ranks,
                        const Call& call);

/// The tensors of this rank. `ranks` allocates registered ones, and must outlive the specs.
std::vector<TensorSpec> collective_tensors(const CollectiveProblem& problem, Communicator& ranks,
                                           const CollectiveSettings& settings);
/// The problem's call on these tensors.
Call bound_call(const CollectiveProblem& problem, int rank, std::span<Tensor* const> tensors);
/// The same call with null buffers, to ask Communicator::why_not before tensors are allocated. It
/// must not be run.
Call unbound_call(const CollectiveProblem& problem, int rank);
bool same_buffers(const Call& a, const Call& b);

/// Why `ranks` cannot run the problem, or empty. The same on every rank.
std::string why_not_collective(const CollectiveProblem& problem, const Communicator& ranks);

/// Takes over `ranks`. It serves every pattern except barrier, which has no data.
std::unique_ptr<Operation> collective_operation(const CollectiveProblem& problem,
                                                std::unique_ptr<Communicator> ranks,
                                                const CollectiveSettings& settings);

/// A barrier is correct if no rank leaves it before all ranks have entered. To verify this, each
/// rank in turn enters late: it waits for a message from every other rank, which sends it directly
/// before it enters, then sleeps, then enters. By its own clock every other rank must then have
/// been in the barrier at least as long as that sleep. No two clocks are compared, and a delay of
/// the machine cannot make a correct barrier fail. `known` connects the same ranks and transfers
/// these messages.
std::unique_ptr<Workload> make_barrier_workload(std::unique_ptr<Communicator> ranks,
                                                Communicator& known, Device& device,
                                                const CollectiveSettings& settings,
                                                ArrivalSource arrivals);

}  // namespace assay
