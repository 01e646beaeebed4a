#pragma once
// The steps of one rank in one collective call: sends, receives, waits, copies and reductions in a
// fixed order. prepare() writes the schedule once; each run executes it. Only `wait` blocks: a
// nonblocking call stops there and resumes later, and steps between a send or receive and its wait
// overlap with the transfer.

#include <cstdint>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A range of elements of one of a call's buffers, or of scratch memory.
struct Part {
  enum class Memory : std::uint8_t { send, receive, scratch };
  Memory in = Memory::receive;
  std::int64_t first = 0, count = 0;
  Part part(std::int64_t from, std::int64_t length) const { return {in, first + from, length}; }
};

struct Step {
  enum class Action : std::uint8_t { send, receive, wait, copy, combine, scale };
  Action what;
  Part into, a, b;  ///< send: a; receive, scale: into; copy: into, a; combine: into, a, b
  int peer = 0;
  int request = 0;  ///< of send, receive and wait: index into the table of requests
};

struct Schedule {
  std::vector<Step> steps;
  int requests = 0;          ///< size of the table of requests
  std::int64_t scratch = 0;  ///< elements
};

/// The longest message: large enough to make its latency negligible, small enough that the data are
/// still in the second-level cache when they are reduced.
inline constexpr std::int64_t segment_bytes = std::int64_t{256} * 1024;

/// True if send and receive are the same buffer (or one is the rank's part of the other).
bool in_place(const Call& call, int rank);

/// Writes a schedule. It tracks the transfers in flight, and inserts the wait for a transfer before
/// the first step that reads what it receives or overwrites what it sends. So no order of steps
/// causes a race; the order affects only speed.
class ScheduleBuilder {
 public:
  /// Takes the counts, and whether it is in place, from `call`.
  ScheduleBuilder(const Call& call, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// All elements of the call's send and receive buffer.
  Part whole_send() const { return whole_send_; }
  Part whole_receive() const { return whole_receive_; }
  /// New scratch memory.
  Part scratch(std::int64_t count);
  /// True if two parts share elements, in-place calls considered.
  bool overlap(Part x, Part y) const;
  /// Elements of a segment, which is sent as one message and reduced while the next is in flight.
  std::int64_t segment() const { return segment_; }

  // Empty parts add no step, neither here nor on the peer.
  void send(int peer, Part from);
  void receive(int peer, Part into);
  void copy(Part into, Part from);
  void combine(Part into, Part a, Part b);
  void scale(Part sum);
  /// Waits for all transfers in flight.
  Schedule finish();

 private:
  struct InFlight {
    Part part;
    int request;
    bool receiving;
  };
  Part canonical(Part part) const;
  void before_write(Part part);
  void before_read(Part part);
  template <class Which>
  void wait_for(Which which);
  int request();

  int rank_, size_;
  Part whole_send_, whole_receive_;
  std::int64_t segment_;
  // In place, elements of `inner_` are those of the other one from `offset_` on.
  bool in_place_;
  Part::Memory inner_ = Part::Memory::receive;
  std::int64_t offset_ = 0;
  Schedule schedule_;
  std::vector<InFlight> in_flight_;
  std::vector<int> free_requests_;
};

}  // namespace assay
