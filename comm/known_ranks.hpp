#pragma once
// What a transport without a launcher of its own (gloo, oneccl, nccl) takes from the communicator
// that has brought its ranks together: who they are, where they are, and the runner's talk between
// timed regions. What is left to it are the transfers.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/forwarding.hpp"
#include "core/api/operation.hpp"

namespace assay {

/// A communicator and the node of each of its ranks, which may be another's than it says itself.
struct Ranks {
  Communicator* known = nullptr;
  std::unique_ptr<Communicator> owned;  ///< known, where nobody else keeps it
  std::vector<int> nodes;               ///< by rank, counted from 0
};

/// Nodes as `known` has found them, or as the setting "ranks_per_node" imposes them (consecutive
/// ranks; "0" or absent: as found). Collective.
Ranks ranks_of(Communicator& known, const Options& options);
/// Those of one color, in the order of key, then rank; nodes counted anew. Collective.
Ranks part_of(const Ranks& ranks, int color, int key);
/// The value of "ranks_per_node", 0 where none is imposed. InputError for anything but a number.
int ranks_per_node(const Options& options);

/// Bytes as text and back: what allgather() takes is text.
std::string hex(std::span<const char> bytes);
std::vector<char> unhex(const std::string& text);

class KnownRanks : public ForwardingCommunicator {
 public:
  int node() const final { return ranks_.nodes[static_cast<std::size_t>(rank())]; }
  int nodes() const final;

  // What moves data is the transport's own, never that of the ranks below.
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
