#pragma once
// The ranks of one job. Every benchmark uses a Communicator; without a launcher it is the serial
// one, rank 0 of 1. The plugin of a transport makes one (Backend::connect). Each of Assay's own
// algorithms is a Communicator on top of another one, so ring, hierarchical, compressed and fused
// calls can be combined, and a caller does not depend on which of them it uses.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/precision.hpp"
#include "core/base/error.hpp"

namespace assay {

struct Execution;  // core/api/operation.hpp

enum class ReduceOp { sum, min, max, average };
std::string_view name(ReduceOp op);

/// `count` elements of `type` at `data`, in the memory (host or device) that the transport uses.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;
  DataType type = DataType::fp32;
  std::size_t bytes() const { return static_cast<std::size_t>(count) * size_of(type); }
  /// Elements [first, first + count).
  Buffer part(std::int64_t first, std::int64_t count) const {
    return {static_cast<std::byte*>(data) + static_cast<std::size_t>(first) * size_of(type), count,
            type};
  }
};

enum class Collective {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  alltoall,
  barrier
};
std::string_view name(Collective what);

/// The arguments of one rank in one collective call of n ranks.
///   allreduce       send.count == receive.count
///   reduce          the same; only the root's `receive` is written
///   alltoall        the same; n equal parts, part r goes to rank r
///   reduce_scatter  send.count == n * receive.count
///   allgather       receive.count == n * send.count
///   broadcast       only `receive`: read on the root, written on the other ranks
///   barrier         no buffers
/// why_not() refuses counts that n does not divide. A call is in place if send.data ==
/// receive.data; for reduce_scatter and allgather, if the smaller buffer is the rank's own part of
/// the larger one.
struct Call {
  Collective what = Collective::allreduce;
  Buffer send, receive;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
};

/// A transfer that was started. It is a value, so that starting a transfer allocates no memory. A
/// default-constructed request is done. Only the communicator interprets `handle` (a library's
/// request, an index of a table).
struct Request {
  std::uintptr_t handle = 0;
};

/// All ranks make collective calls in the same order. Device transports submit transfers to
/// `stream`; host transports ignore it and start at the call. If the transport fails, CaseError is
/// thrown with its own message.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int node() const = 0;  ///< index of this rank's node, 0 … nodes()-1
  virtual int nodes() const = 0;
  virtual std::string host() const = 0;
  /// Collective, as MPI_Comm_split: the ranks of equal color become one communicator, ordered by
  /// key, then by rank.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// The reason why this call cannot be made (its type, operator, count); empty if it can. Equal on
  /// all ranks.
  virtual std::string why_not(const Call& call) const = 0;
  /// Collective, untimed. Allocates what calls like this one need (scratch memory, connections,
  /// registration), so that they allocate nothing. Without it calls are correct, but may allocate.
  virtual void prepare(const Call& call) = 0;
  /// Memory from which this communicator transfers data faster than from ordinary memory
  /// (registered with a network, visible to the other ranks), for calls that were prepared; null if
  /// it has no such memory. Aligned to 64 bytes. Not collective. CaseError if too little is left.
  virtual std::shared_ptr<void> allocate(std::size_t /*bytes*/) { return nullptr; }
  /// Bytes of scratch memory that prepare() has allocated on this rank.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Adds to a row's "executed" what is known about such a call: its implementation, the types of
  /// its arithmetic, the evidence. By default nothing.
  virtual void describe(const Call&, Execution&) const {}
  /// Settings of the library that affect the times of all its calls ("CCL_YIELD=sched_yield"), for
  /// the row's "executed"; empty if there are none.
  virtual std::string tuning_settings() const { return ""; }
  /// The blocking call. On return this rank's part is done (device transports: submitted).
  virtual void run(const Call& call, Stream& stream) = 0;
  /// The non-blocking call. A transport without one makes the blocking call and returns a request
  /// that is done.
  virtual Request start(const Call& call, Stream& stream) = 0;
  /// True if messages have tags. With tags, messages between two ranks that have equal tags arrive
  /// in the order in which they were sent. Without, all messages between two ranks do, and their
  /// tags are ignored: a caller must then receive in the order of sending.
  virtual bool has_tags() const { return true; }
  /// Starts to send to, or to receive from, a rank. A send may wait for its receive. Tags are 0 …
  /// 32767.
  virtual Request send(Buffer data, int to, int tag, Stream& stream) = 0;
  virtual Request receive(Buffer data, int from, int tag, Stream& stream) = 0;
  /// Waits until the request is done. Returns at once if it already is.
  virtual void wait(Request& request) = 0;
  /// True if the request is done; makes progress, but does not wait.
  virtual bool done(Request& request) = 0;
  /// Prints `why` and ends the whole job with the exit code `code`: for a rank that cannot continue
  /// while other ranks wait for it.
  [[noreturn]] virtual void abort(const std::string& why, ExitCode code) = 0;

  // Blocking collectives on host memory, which the runner uses between timed regions.
  virtual void barrier() = 0;
  /// Element-wise maximum over the ranks, in place.
  virtual void allreduce_max(std::span<double> values) = 0;
  /// Returns rank 0's `value` on every rank.
  virtual double broadcast(double value) = 0;
  /// Returns the texts of all ranks, by rank, on every rank.
  virtual std::vector<std::string> allgather(const std::string& text) = 0;

  // Shorthand for the most frequent call.
  void allreduce(Buffer send, Buffer receive, ReduceOp op, Stream& stream) {
    run({Collective::allreduce, send, receive, op, 0}, stream);
  }
};

/// Rank 0 of 1. Collectives copy (in place: do nothing). A rank may send to itself; a receive takes
/// the message with its tag.
std::unique_ptr<Communicator> make_serial_communicator();

/// The reason why the buffers of a call do not match each other or the number of ranks; empty if
/// they do. It is for implementations of Communicator::why_not.
std::string why_not_counts(const Call& call, int ranks);

}  // namespace assay
