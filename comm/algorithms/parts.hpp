#pragma once
// The parts that the scheduled algorithms are put together from. Each is done by a group of ranks
// on the same elements; all members write it at the same place of their schedules.

#include <vector>

#include "comm/algorithms/schedule.hpp"

namespace assay {

/// Ranks that do a part together, by their ranks in the transport.
struct Group {
  std::vector<int> ranks;
  int me = 0;  ///< my place among them
  int size() const { return static_cast<int>(ranks.size()); }
  /// The rank `by` places to the right (or left) of me, around the ring.
  int neighbour(int by) const {
    return ranks[static_cast<std::size_t>((me + by + size()) % size())];
  }
};

/// The ranks first, first + stride, … below `end`; `me` is one of them.
Group every(int first, int stride, int end, int me);

/// Part `index` of `parts` nearly equal ones; the first ones are longer by one where it does not
/// divide.
Part piece(Part whole, int parts, int index);

/// Ring: every member gets its piece (by its place) of the sum. `whole` is the members' own
/// contribution. `result` is as long, and of it only the member's own piece counts afterwards, the
/// others are used as memory; or it is as long as that piece alone, and scratch is used. After
/// size - 1 messages, (size - 1)/size of the data sent and received: the least possible.
void ring_reduce_scatter(ScheduleBuilder& builder, const Group& group, Part whole, Part result);
/// Ring: from every member's `own` piece to the whole on all.
void ring_allgather(ScheduleBuilder& builder, const Group& group, Part own, Part whole);

/// Recursive halving, then doubling (Rabenseifner 2004): as little traffic as a ring, in 2
/// log2(size) messages instead of 2 (size - 1). Members beyond a power of two first give their data
/// to a neighbour, and get the result from it in the end. `scaled`: the sum is divided by the
/// number of ranks, each element once.
void halving_doubling(ScheduleBuilder& builder, const Group& group, Part from, Part into,
                      bool scaled);

/// Binomial tree: the sum in `into` on member `root`; on the others `into` is overwritten.
void tree_reduce(ScheduleBuilder& builder, const Group& group, int root, Part from, Part into);
/// Binomial tree: from member `root` to all.
void tree_broadcast(ScheduleBuilder& builder, const Group& group, int root, Part data);

}  // namespace assay
