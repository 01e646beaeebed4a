#pragma once
// The building blocks of the scheduled algorithms. A group of ranks executes each block on the same
// elements; all members add the block at the same position of their schedules.

#include <vector>

#include "comm/algorithms/schedule.hpp"

namespace assay {

/// The ranks that execute a block together, numbered as in the transport.
struct Group {
  std::vector<int> ranks;
  int me = 0;  ///< index of this rank among them
  int size() const { return static_cast<int>(ranks.size()); }
  /// The rank `by` positions after this one in the ring (before it where `by` is negative).
  int neighbour(int by) const {
    return ranks[static_cast<std::size_t>((me + by + size()) % size())];
  }
};

/// The ranks first, first + stride, … below `end`. `me` is this rank, one of them.
Group every(int first, int stride, int end, int me);

/// Part `index` of `parts` nearly equal parts of `whole`; where its length is not divisible, the
/// first parts are longer by one element.
Part piece(Part whole, int parts, int index);

/// Ring: each member gets the piece of the sum with its own index. `whole` is this member's
/// contribution. `result` is either as long as `whole`, and holds the sum in the member's own piece
/// and intermediate data elsewhere; or as long as that piece, and scratch memory is used. Takes
/// size - 1 messages, and sends and receives (size - 1)/size of the data: the minimum.
void ring_reduce_scatter(ScheduleBuilder& builder, const Group& group, Part whole, Part result);
/// Ring: collects the `own` pieces of all members in `whole` on each of them.
void ring_allgather(ScheduleBuilder& builder, const Group& group, Part own, Part whole);

/// Recursive halving, then doubling (Rabenseifner 2004): the traffic of a ring in 2 log2(size)
/// messages instead of 2 (size - 1). Members beyond the largest power of two first send their data
/// to a neighbour, and receive the result from it at the end. `scaled`: divides the sum by the
/// number of ranks.
void halving_doubling(ScheduleBuilder& builder, const Group& group, Part from, Part into,
                      bool scaled);

/// Binomial tree: the sum is in `into` on member `root`; on other members `into` is overwritten.
void tree_reduce(ScheduleBuilder& builder, const Group& group, int root, Part from, Part into);
/// Binomial tree: sends `data` from member `root` to all members.
void tree_broadcast(ScheduleBuilder& builder, const Group& group, int root, Part data);

}  // namespace assay
