#pragma once
// The ranks of one job. Every benchmark runs over a Communicator; without a launcher, this is the
// serial one, rank 0 of 1. A transport's plugin makes one (Backend::connect), and each of Assay's
// own algorithms is one over another, so ring, hierarchical, compressed and fused calls compose.
// The caller of a collective does not know which of them it is.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/precision.hpp"

namespace assay {

struct Executed;  // core/api/operation.hpp

enum class ReduceOp { sum, min, max, average };
std::string_view name(ReduceOp op);

/// `count` elements of `type` at `data`, in host or device memory as the transport takes it.
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

/// One rank's part in one collective call. Counts, with n ranks: allreduce, reduce and alltoall
/// have send.count == receive.count (alltoall: n equal parts, part r for rank r); reduce_scatter
/// receives, and allgather sends, a 1/n part; what n does not divide is refused (why_not).
/// broadcast has `receive` alone: read on the root, written elsewhere. reduce writes receive on the
/// root alone. In place: send.data == receive.data, for reduce_scatter and allgather that of the
/// rank's own part within the whole. barrier has neither.
struct Call {
  Collective what = Collective::allreduce;
  Buffer send, receive;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
};

/// A started transfer: a value, so that starting one allocates nothing. A default one is done.
/// The handle is the communicator's own (a library's request, an index into a table).
struct Request {
  std::uintptr_t handle = 0;
};

/// Collective calls are made by all ranks in the same order. Transfers are ordered on `stream`
/// (host transports run at the call). Errors of the transport throw CaseError with its own text.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int node() const = 0;  ///< index of this rank's node, 0 … nodes()-1
  virtual int nodes() const = 0;
  virtual std::string host() const = 0;
  /// Collective. Ranks of one color become one communicator, in the order of key, then rank.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// Why this call cannot be made (type, operation, count), with the condition that fails; empty
  /// where it can. The same on every rank.
  virtual std::string why_not(const Call& call) const = 0;
  /// Collective, untimed: makes room (scratch memory, connections, registration) for calls like
  /// this one, so that they allocate nothing. Calls without it give correct results, too.
  virtual void prepare(const Call& call) = 0;
  /// Memory from which this communicator moves data at less cost than from any other, for calls
  /// that prepare() has seen (registered with a network, visible to the other ranks); null where it
  /// has none. Aligned to 64 bytes. Not collective. CaseError where there is not enough.
  virtual std::shared_ptr<void> allocate(std::size_t /*bytes*/) { return nullptr; }
  /// Bytes of scratch memory that prepare() has taken, on this rank.
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Adds to a row's "executed" what is known of how such a call runs (implementation, types of its
  /// arithmetic, evidence). Nothing by default.
  virtual void describe(const Call&, Executed&) const {}
  /// Settings of the library that affect the time of everything sent over it, also of messages
  /// ("CCL_YIELD=sched_yield"); empty where there are none. For the row's "executed".
  virtual std::string tuning_settings() const { return ""; }
  /// The library's blocking call: on return the rank's part is done (device transports: enqueued).
  virtual void run(const Call& call, Stream& stream) = 0;
  /// The non-blocking call. A transport without one makes the blocking call: its request is done.
  virtual Request start(const Call& call, Stream& stream) = 0;
  /// Messages between two ranks with equal tags arrive in the order in which they were sent. A
  /// started send may wait for its receive. Tags are 0 … 32767.
  /// Without tags, all messages between two ranks arrive in that order, whatever their tags: a
  /// caller with several conversations with a rank must then keep them apart.
  virtual bool has_tags() const { return true; }
  virtual Request send(Buffer data, int to, int tag, Stream& stream) = 0;
  virtual Request receive(Buffer data, int from, int tag, Stream& stream) = 0;
  /// Waits; the request is then done. Waiting for one that is done returns at once.
  virtual void wait(Request& request) = 0;
  /// Whether wait() would return at once, without waiting; makes progress.
  virtual bool done(Request& request) = 0;
  /// Ends the whole job. For a rank that cannot continue while other ranks wait for it.
  [[noreturn]] virtual void abort(const std::string& why) = 0;

  // What the runner needs between timed regions, on host memory, blocking.
  virtual void barrier() = 0;
  /// Element-wise maximum over the ranks, in place; the slowest rank counts.
  virtual void allreduce_max(std::span<double> values) = 0;
  /// The rank-0 value of `value` on every rank: stop rules and orders are decided once.
  virtual double broadcast(double value) = 0;
  /// Every rank's text, by rank, on every rank: reasons, host names.
  virtual std::vector<std::string> allgather(const std::string& text) = 0;

  // The most frequent call, in short.
  void allreduce(Buffer send, Buffer receive, ReduceOp op, Stream& stream) {
    run({Collective::allreduce, send, receive, op, 0}, stream);
  }
};

/// Rank 0 of 1. Collectives are copies (or nothing, in place); send and receive to oneself match by
/// tag.
std::unique_ptr<Communicator> serial_communicator();

/// The reason why the buffers of a call do not fit each other or the number of ranks, or empty:
/// what every communicator asks first.
std::string why_not_counts(const Call& call, int ranks);

}  // namespace assay
