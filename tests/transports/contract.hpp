#pragma once
// Checks the promises of core/api/communicator.hpp over any Communicator: by the ranks of a
// launcher (contract_main.cpp) and by threads (test_contract.cpp). All inputs are small integers,
// so every result is exact in every type and order, and is compared bit for bit.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/host_device.hpp"

namespace assay::testing {

class Contract {
 public:
  /// `loud`: rank 0 tells each call before it makes it, for the one that does not come back.
  explicit Contract(Communicator& ranks, bool loud = false)
      : ranks_(ranks), loud_(loud && ranks.rank() == 0) {}

  /// Every collective × type × operation × place × count × way of calling.
  void collectives();
  /// Long calls, the first of their connections, whose sockets have small buffers yet: nothing may
  /// be written over that is still being sent. Often, for that is a race.
  void first_calls();
  /// Messages: sizes, both directions at once, many under way, order, zero bytes.
  void messages();
  /// Several calls under way, of which each rank waits for another one first.
  void calls_under_way();
  /// Messages that are received in another order than they were sent, told apart by tag alone;
  /// nothing where there are no tags.
  void tags();
  /// Parts by color and key, parts of parts, and the whole among them.
  void splits();
  /// The runner's own talk.
  void talk();
  /// Collectives and a message of more than 2^31 elements: right, or refused, or not tried where
  /// there is less memory than `memory_factor` times the buffers.
  void large(double memory_factor);

  /// The faults on this rank, the features that the transport said to lack, and the tests for which
  /// there was too little memory.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::set<std::string>& refused() const { return refused_; }
  const std::set<std::string>& not_tried() const { return not_tried_; }
  std::size_t calls() const { return calls_; }

 private:
  /// Makes one call in one way, and looks at every element and at those around them.
  void one_call(Collective what, DataType type, ReduceOp op, bool in_place, std::int64_t part,
                int root, int way);
  void expect(bool right, const std::string& what);
  template <class Element>
  void large_call(Collective what, DataType type);
  void large_message();
  /// True if every rank has memory for so many bytes of its own. Collective.
  bool enough_memory(double bytes, const std::string& title);
  void ring_messages(std::int64_t count, int messages, bool backwards);

  Communicator& ranks_;
  bool loud_;
  HostStream stream_;
  std::vector<std::string> failures_;
  std::set<std::string> refused_, not_tried_;
  double memory_factor_ = 1;
  std::size_t calls_ = 0;
};

}  // namespace assay::testing
