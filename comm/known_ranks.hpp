#pragma once
// The base of transports that have no launcher (gloo, oneccl, nccl). They are created over a
// communicator that already connects the ranks (MPI's). It gives the number and node of each rank,
// and serves the runner's exchanges between timed regions. The transport itself implements only
// data transfers.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/forwarding.hpp"
#include "core/api/operation.hpp"

namespace assay {

/// A communicator and the node of each of its ranks, which may differ from known->node().
struct Ranks {
  Communicator* known = nullptr;
  std::unique_ptr<Communicator> owned;  ///< `known`, if this struct owns it; else null
  std::vector<int> nodes;               ///< by rank, numbered from 0
};

/// The nodes that `known` reports or, if the setting "ranks_per_node" is above 0, nodes of that
/// many consecutive ranks. Collective.
Ranks read_ranks(Communicator& known, const Options& options);
/// The ranks with this rank's color, in the order of key, then rank; nodes are renumbered from 0.
/// Collective.
Ranks select_part(const Ranks& ranks, int color, int key);
/// The setting "ranks_per_node"; 0 keeps the nodes as reported. InputError where it is not a
/// number.
int ranks_per_node(const Options& options);

/// Bytes as text and back, since allgather() exchanges text.
std::string hex(std::span<const char> bytes);
std::vector<char> unhex(const std::string& text);

class KnownRanks : public ForwardingCommunicator {
 public:
  int node() const final { return ranks_.nodes[static_cast<std::size_t>(rank())]; }
  int nodes() const final;

  // Functions that move data. Each transport implements them, since none may be forwarded to the
  // communicator below.
  std::unique_ptr<Communicator> split(int color, int key) override = 0;
  std::string why_not(const Call& call) const override = 0;
  void prepare(const Call& call) override = 0;
  std::shared_ptr<void> allocate(std::size_t) override { return nullptr; }
  std::size_t scratch_bytes() const override { return 0; }
  std::string tuning_settings() const override { return ""; }
  void run(const Call& call, Stream& stream) override = 0;
  Request start(const Call& call, Stream& stream) override = 0;
  Request send(Buffer data, int to, int tag, Stream& stream) override = 0;
  Request receive(Buffer data, int from, int tag, Stream& stream) override = 0;
  void wait(Request& request) override = 0;
  bool done(Request& request) override = 0;

 protected:
  explicit KnownRanks(Ranks ranks)
      : ForwardingCommunicator(*ranks.known), ranks_(std::move(ranks)) {}
  const Ranks& ranks() const { return ranks_; }

 private:
  Ranks ranks_;
};

}  // namespace assay
