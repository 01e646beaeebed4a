#pragma once
// A collective problem over a communicator, ready to be timed.

#include <memory>
#include <string>

#include "comm/collective.hpp"
#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct CollectiveSettings {
  std::string algorithm = "library", transport{};  ///< for the row's "executed"
  bool nonblocking = false;                        ///< started, then waited for
  bool registered = false;                         ///< buffers in memory of Communicator::allocate
};

/// What is known of how such a call runs: the library's own words, or, where the algorithm is ours,
/// its name and what our reductions (comm/reduce.hpp) compute in.
Executed executed_of(const CollectiveSettings& settings, const Communicator& ranks,
                     const Call& call);

/// Why `ranks` cannot do the problem, or empty. The same on every rank.
std::string why_not_collective(const CollectiveProblem& problem, const Communicator& ranks);

/// Takes the communicator over. Every pattern but barrier, which has no data.
std::unique_ptr<Operation> collective_operation(const CollectiveProblem& problem,
                                                std::unique_ptr<Communicator> ranks,
                                                const CollectiveSettings& settings);

/// A barrier is right where nobody leaves it before all have come. In turn each rank comes late: it
/// waits for the message of every other that it is about to enter, then a while, then it enters. On
/// its own clock every other rank must then have been in the barrier for that while at least: no
/// clock is compared with another's, and no delay of the machine can make a right barrier fail.
/// `known` carries the messages.
std::unique_ptr<Workload> barrier_workload(std::unique_ptr<Communicator> ranks, Communicator& known,
                                           Device& device, const CollectiveSettings& settings);

}  // namespace assay
