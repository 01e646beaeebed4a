#pragma once
// One collective call with data whose sums are exact in every type and order, compared bit for bit
// (the mean within 2 units in the last place) with what its definition says.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/algorithms/algorithm.hpp"
#include "comm/reduce.hpp"
#include "core/api/host_device.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay::testing_comm {

/// The shape of a call; `count` is that of the least buffer (the part, where there are parts).
struct Shape {
  Collective what = Collective::allreduce;
  std::int64_t count = 0;
  DataType type = DataType::fp32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = false;
  int root = 0;
  std::string text() const {
    return std::string(name(what)) + " of " + std::to_string(count) + " " +
           std::string(name(type)) + " " + std::string(name(op)) + (in_place ? " in place" : "") +
           " root " + std::to_string(root);
  }
};

inline double value(int rank, std::int64_t index) {
  return static_cast<double>((rank * 7 + index * 13 + index / 5) % 17 - 8);
}

/// The source of a buffer's memory; empty: ordinary memory.
using Allocate = std::function<std::shared_ptr<void>(std::size_t)>;

/// Elements with 16 more behind them that nobody may touch.
class Memory {
 public:
  Memory(DataType type, std::int64_t count, const Allocate& allocate = {})
      : type_(type), count_(count) {
    const std::size_t bytes = (static_cast<std::size_t>(count) + 16) * size_of(type);
    memory_ = allocate ? allocate(bytes) : std::make_shared<std::byte[]>(bytes);
    bytes_ = {static_cast<std::byte*>(memory_.get()), bytes};
    std::memset(bytes_.data(), 0x5a, bytes_.size());
  }
  Buffer buffer() { return {bytes_.data(), count_, type_}; }
  bool whole() const {
    for (std::size_t i = static_cast<std::size_t>(count_) * size_of(type_); i < bytes_.size(); ++i)
      if (bytes_[i] != std::byte{0x5a}) return false;
    return true;
  }
  std::vector<double> values() const {
    std::vector<double> all(static_cast<std::size_t>(count_));
    decode(type_, bytes_.data(), all);
    return all;
  }
  void set(const std::vector<double>& all, std::int64_t first = 0) {
    encode(type_, all, bytes_.data() + static_cast<std::size_t>(first) * size_of(type_));
  }

 private:
  DataType type_;
  std::int64_t count_;
  std::shared_ptr<void> memory_;
  std::span<std::byte> bytes_;
};

/// The call's buffers on one rank, filled, and what must come out.
struct PreparedCall {
  Memory send, receive;
  Call call;
  bool checked = true;           ///< this rank gets a result
  std::vector<double> expected;  ///< of call.receive
};

inline double combined(const Shape& shape, int ranks, std::int64_t index) {
  double result = value(0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double contribution = value(rank, index);
    if (shape.op == ReduceOp::max)
      result = std::max(result, contribution);
    else if (shape.op == ReduceOp::min)
      result = std::min(result, contribution);
    else
      result += contribution;
  }
  return shape.op == ReduceOp::average ? result / ranks : result;
}

inline PreparedCall prepared(const Shape& shape, int rank, int ranks,
                             const Allocate& sent_from = {}, const Allocate& got_in = {}) {
  const bool scatters = shape.what == Collective::reduce_scatter;
  const bool gathers = shape.what == Collective::allgather;
  const bool sends = shape.what != Collective::broadcast;
  const std::int64_t total =
      shape.count * (scatters || gathers || shape.what == Collective::alltoall ? ranks : 1);
  const std::int64_t sent = gathers ? shape.count : total, got = scatters ? shape.count : total;
  PreparedCall all{Memory(shape.type, sends ? sent : 0, sent_from),
                   Memory(shape.type, got, got_in),
                   {},
                   true,
                   {}};
  std::vector<double> data;
  for (std::int64_t i = 0; i < sent; ++i) data.push_back(value(rank, i));
  all.call = {shape.what, {}, all.receive.buffer(), shape.op, shape.root};
  if (!sends) {
    if (rank == shape.root) all.receive.set(data);
  } else if (!shape.in_place) {
    all.send.set(data);
    all.call.send = all.send.buffer();
  } else if (scatters) {
    all.send.set(data);
    all.call.send = all.send.buffer();
    all.call.receive = all.call.send.part(rank * shape.count, shape.count);
  } else {
    all.receive.set(data, gathers ? rank * shape.count : 0);
    all.call.send =
        gathers ? all.call.receive.part(rank * shape.count, shape.count) : all.call.receive;
  }
  for (std::int64_t i = 0; i < got; ++i) {
    switch (shape.what) {
      case Collective::broadcast:
        all.expected.push_back(value(shape.root, i));
        break;
      case Collective::allgather:
        all.expected.push_back(value(static_cast<int>(i / shape.count), i % shape.count));
        break;
      case Collective::alltoall:
        all.expected.push_back(
            value(static_cast<int>(i / shape.count), rank * shape.count + i % shape.count));
        break;
      case Collective::reduce_scatter:
        all.expected.push_back(combined(shape, ranks, rank * shape.count + i));
        break;
      default:
        all.expected.push_back(combined(shape, ranks, i));
    }
  }
  all.checked = shape.what != Collective::reduce || rank == shape.root;
  return all;
}

/// The first wrong element, or empty.
inline std::string wrong(PreparedCall& all, const Shape& shape) {
  if (!all.send.whole() || !all.receive.whole()) return "wrote beyond a buffer's end";
  if (!all.checked) return "";
  std::vector<double> got(static_cast<std::size_t>(all.call.receive.count));
  decode(shape.type, all.call.receive.data, got);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = all.expected[i];
    const double allowed = shape.op == ReduceOp::average && shape.what != Collective::broadcast
                               ? 4 * unit_roundoff(shape.type) * std::fabs(exact)
                               : 0;
    if (!(std::fabs(got[i] - exact) <= allowed))
      return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
             std::to_string(exact);
  }
  return "";
}

/// Makes the call on this rank, blocking or not, and checks its result.
inline void check(Communicator& ranks, const Shape& shape, bool started = false,
                  const Allocate& sent_from = {}, const Allocate& got_in = {}) {
  HostStream stream;
  PreparedCall all = prepared(shape, ranks.rank(), ranks.size(), sent_from, got_in);
  ASSERT_EQ(ranks.why_not(all.call), "") << shape.text();
  ranks.prepare(all.call);
  if (started) {
    Request request = ranks.start(all.call, stream);
    while (!ranks.done(request)) std::this_thread::yield();
  } else {
    ranks.run(all.call, stream);
  }
  EXPECT_EQ(wrong(all, shape), "")
      << shape.text() << ", rank " << ranks.rank() << " of " << ranks.size() << ", "
      << ranks.nodes() << " nodes" << (started ? ", started" : "");
}

/// A shape by chance, the same on all ranks that ask with equal generators.
inline Shape random_shape(std::mt19937& random, Collective what, int ranks) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  constexpr DataType types[] = {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16,
                                DataType::s32};
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::average};
  constexpr std::int64_t counts[] = {0, 1, 2, 3, 5, 7, 8, 16, 31, 97, 256, 1009, 4096, 10007};
  Shape shape{what,
              counts[below(14)],
              types[below(5)],
              ops[below(4)],
              below(2) == 1 && what != Collective::broadcast,
              below(ranks)};
  if (why_not_reduce(shape.type, shape.op) != "") shape.op = ReduceOp::sum;
  return shape;
}

inline const AlgorithmEntry& algorithm(const std::string& name) {
  for (const AlgorithmEntry& entry : algorithms())
    if (entry.name == name) return entry;
  throw std::logic_error("no algorithm " + name);
}

/// Makes an algorithm; its reason in `refusal` where it refuses.
inline std::unique_ptr<Communicator> make(const std::string& name, Communicator& transport,
                                          const Options& options = {},
                                          std::string* refusal = nullptr) {
  auto made = algorithm(name).make(transport, transport, options);
  if (auto* reason = std::get_if<Unsupported>(&made)) {
    if (refusal) *refusal = reason->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<Communicator>>(made));
}

}  // namespace assay::testing_comm
