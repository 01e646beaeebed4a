#pragma once
// What the two hybrids share: one communicator within each node and others among nodes, and calls
// that are made of theirs.

#include <functional>
#include <memory>
#include <string>

#include "comm/algorithms/topology.hpp"
#include "core/api/backend.hpp"

namespace assay {

/// The ranks of my node, over what the user chose ("inside" setting).
class Inside {
 public:
  /// Collective. `inside` spans all ranks; with inside=shared_memory it is the transport, and
  /// shared memory is made on each node.
  static Result<Inside> make(Communicator& inside, const Options& options);
  Communicator& operator*() const { return over_ ? *over_ : *node_; }
  Communicator* operator->() const { return &**this; }

 private:
  std::unique_ptr<Communicator> node_, over_;
};

/// One call of a communicator below, or (no communicator) the scaling of a sum to the mean.
struct Below {
  Communicator* over = nullptr;
  Call call;
};
using ShowBelow = std::function<void(const Below&)>;

/// An allreduce made of calls of communicators below, one after the other.
class Hybrid {
 public:
  virtual ~Hybrid() = default;
  virtual std::string name() const = 0;
  /// Shows this rank's calls for an allreduce of `call`, in order.
  virtual void calls(const Call& call, const ShowBelow& show) const = 0;
};
/// `device`: that of the buffers; a mean needs host memory.
std::unique_ptr<Communicator> hybrid_communicator(Communicator& transport,
                                                  std::unique_ptr<Hybrid> hybrid,
                                                  const std::string& device);

}  // namespace assay
