#pragma once
// Ranks of one job. Every benchmark runs over a Communicator; without a launcher it is rank 0 of 1
// (the serial one).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device.hpp"
#include "core/precision.hpp"

namespace assay {

enum class ReduceOp { sum, min, max, average };

/// `count` elements of `type` at `data`, in host or device memory as the transport takes it.
struct Buffer {
  void* data = nullptr;
  std::int64_t count = 0;
  DataType type = DataType::fp32;
};

/// A started transfer.
class Request {
 public:
  virtual ~Request() = default;
  virtual void wait() = 0;
  virtual bool done() = 0;
};
using Requests = std::unique_ptr<Request>;

/// Collective calls are made by all ranks in the same order. Transfers are ordered on `stream`
/// (host transports run at the call). In place: send.data == receive.data. Counts: reduce_scatter
/// receives, and allgather sends, count/size elements a rank. Errors of the transport throw
/// CaseError with its own text.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int node() const = 0;  ///< index of this rank's node, 0 … nodes()-1
  virtual int nodes() const = 0;
  virtual std::string host() const = 0;
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  virtual Requests send(Buffer data, int to, int tag, Stream& stream) = 0;
  virtual Requests receive(Buffer data, int from, int tag, Stream& stream) = 0;
  virtual Requests allreduce(Buffer send, Buffer receive, ReduceOp op, Stream& stream) = 0;
  virtual Requests reduce(Buffer send, Buffer receive, ReduceOp op, int root, Stream& stream) = 0;
  virtual Requests reduce_scatter(Buffer send, Buffer receive, ReduceOp op, Stream& stream) = 0;
  virtual Requests allgather(Buffer send, Buffer receive, Stream& stream) = 0;
  virtual Requests broadcast(Buffer data, int root, Stream& stream) = 0;
  virtual Requests alltoall(Buffer send, Buffer receive, Stream& stream) = 0;
  virtual void barrier() = 0;
  /// Ends the whole job: for a rank that cannot go on while others wait for it.
  [[noreturn]] virtual void abort(const std::string& why) = 0;

  // What the runner needs between timed regions, on host memory, blocking.
  /// Element-wise maximum over the ranks, in place; the slowest rank counts.
  virtual void maximum(std::span<double> values) = 0;
  /// The rank-0 value of `value` on every rank: stop rules and orders are decided once.
  virtual double agree(double value) = 0;
  /// Every rank's text, by rank, on every rank: reasons, host names.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
};

/// Rank 0 of 1. Collectives are copies (or nothing, in place); send and receive to oneself match by
/// tag.
std::unique_ptr<Communicator> serial_communicator();

}  // namespace assay
