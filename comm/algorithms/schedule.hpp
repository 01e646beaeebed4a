#pragma once
// One rank's part in one collective call as a straight line of steps over send and receive: made
// once, by prepare(), and then only followed. Only `wait` blocks, so a schedule that is interrupted
// there goes on later (non-blocking calls), and steps between a start and its wait overlap with the
// transfer.

#include <cstdint>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// Elements of one of the buffers of a call.
struct Part {
  enum class In : std::uint8_t { send, receive, scratch };
  In in = In::receive;
  std::int64_t first = 0, count = 0;
  Part part(std::int64_t from, std::int64_t length) const { return {in, first + from, length}; }
};

struct Step {
  enum class Do : std::uint8_t { send, receive, wait, copy, combine, scale };
  Do what;
  Part into, a, b;  ///< send: a; receive, scale: into; copy: into, a; combine: into, a, b
  int peer = 0;
  int request = 0;  ///< of send, receive and wait: a place in the table of requests
};

struct Schedule {
  std::vector<Step> steps;
  int requests = 0;          ///< places in the table
  std::int64_t scratch = 0;  ///< elements
};

/// The longest message: large enough that its latency does not count, small enough that what has
/// come is still in the second-level cache when it is reduced.
inline constexpr std::int64_t segment_bytes = 256 * 1024;

/// Whether the call's receive is its send (or the rank's own part of it).
bool in_place(const Call& call, int rank);

/// Writes a schedule. It knows which transfers are on their way, and puts the wait for one before
/// the first step that would read what it has yet to bring or overwrite what it has yet to take. So
/// no order of steps can be a race; the order decides speed alone.
class ScheduleBuilder {
 public:
  /// `count` and the buffers' relation are taken from `call`.
  ScheduleBuilder(const Call& call, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// All elements of the call's buffers.
  Part whole_send() const { return whole_send_; }
  Part whole_receive() const { return whole_receive_; }
  /// New scratch memory.
  Part scratch(std::int64_t count);
  /// Whether two parts share elements, in-place calls considered.
  bool overlap(Part x, Part y) const;
  /// Elements of a segment: what is sent in one message and reduced while the next is on its way.
  std::int64_t segment() const { return segment_; }

  // Empty parts make no step, on both ends alike.
  void send(int peer, Part from);
  void receive(int peer, Part into);
  void copy(Part into, Part from);
  void combine(Part into, Part a, Part b);
  void scale(Part sum);
  /// Waits for all that is on its way.
  Schedule finish();

 private:
  struct OnItsWay {
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
  // In place: elements of `inner_` are those of the other one from `offset_` on.
  bool in_place_;
  Part::In inner_ = Part::In::receive;
  std::int64_t offset_ = 0;
  Schedule schedule_;
  std::vector<OnItsWay> on_its_way_;
  std::vector<int> free_requests_;
};

}  // namespace assay
