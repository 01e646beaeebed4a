#pragma once
// Common parts of the two hybrid algorithms: a communicator inside each node, others between nodes,
// and an allreduce composed of their calls.

#include <functional>
#include <memory>
#include <string>

#include "comm/algorithms/topology.hpp"
#include "core/api/backend.hpp"

namespace assay {

/// The communicator between the ranks of this rank's node, as --intra-node chooses it.
class IntraNode {
 public:
  /// Collective. `all` connects all ranks and is split by nodes. With --intra-node shared_memory
  /// `all` is the transport, and each node gets a shared-memory communicator over its ranks.
  static Result<IntraNode> make(Communicator& all, const Options& options);
  Communicator& operator*() const { return over_ ? *over_ : *node_; }
  Communicator* operator->() const { return &**this; }

 private:
  std::unique_ptr<Communicator> node_, over_;
};

/// One step: a call of a communicator or, without one, the scaling of a sum to the average.
struct HybridStep {
  Communicator* over = nullptr;
  Call call;
};
using VisitStep = std::function<void(const HybridStep&)>;

/// An allreduce composed of calls of other communicators, one after the other.
class Hybrid {
 public:
  virtual ~Hybrid() = default;
  virtual std::string name() const = 0;
  /// Visits this rank's steps of the allreduce `call` in order.
  virtual void steps(const Call& call, const VisitStep& visit) const = 0;
};
/// `device`: "cpu" or "gpu", where the buffers are. why_not() refuses an average of device buffers,
/// since the division is done in host memory.
std::unique_ptr<Communicator> make_hybrid_communicator(Communicator& transport,
                                                       std::unique_ptr<Hybrid> hybrid,
                                                       const std::string& device);

}  // namespace assay
