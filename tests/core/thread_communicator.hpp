#pragma once
// Ranks as threads of one process: a real transport through shared memory, small enough to read.
// For tests of what all ranks must do alike.

#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/communicator.hpp"
#include "core/error.hpp"

namespace assay::testing_fakes {

/// What the threads share.
struct ThreadWorld {
  explicit ThreadWorld(int ranks)
      : barrier(ranks),
        buffers(static_cast<std::size_t>(ranks)),
        texts(buffers.size()),
        doubles(buffers.size()) {}
  std::barrier<> barrier;
  std::vector<Buffer> buffers;
  std::vector<std::string> texts;
  std::vector<std::span<double>> doubles;
};

class FinishedRequest final : public Request {
 public:
  void wait() override {}
  bool done() override { return true; }
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.buffers.size()); }
  int node() const override { return 0; }
  int nodes() const override { return 1; }
  std::string host() const override { return "threads"; }
  std::unique_ptr<Communicator> split(int, int) override { no("split"); }

  Requests send(Buffer, int, int, Stream&) override { no("send"); }
  Requests receive(Buffer, int, int, Stream&) override { no("receive"); }
  /// Every rank reduces all contributions in rank order, in fp64.
  Requests allreduce(Buffer send, Buffer receive, ReduceOp op, Stream&) override {
    mine() = send;
    std::vector<double> sum(static_cast<std::size_t>(send.count)), one(sum.size());
    world_.barrier.arrive_and_wait();
    for (std::size_t rank = 0; rank < world_.buffers.size(); ++rank) {
      decode(send.type, world_.buffers[rank].data, one);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (rank == 0)
          sum[i] = one[i];
        else if (op == ReduceOp::max)
          sum[i] = std::max(sum[i], one[i]);
        else if (op == ReduceOp::min)
          sum[i] = std::min(sum[i], one[i]);
        else
          sum[i] += one[i];
      }
    }
    if (op == ReduceOp::average) {
      for (double& value : sum) value /= size();
    }
    world_.barrier.arrive_and_wait();
    encode(send.type, sum, receive.data);
    return std::make_unique<FinishedRequest>();
  }
  Requests reduce(Buffer, Buffer, ReduceOp, int, Stream&) override { no("reduce"); }
  Requests reduce_scatter(Buffer, Buffer, ReduceOp, Stream&) override { no("reduce_scatter"); }
  Requests allgather(Buffer, Buffer, Stream&) override { no("allgather"); }
  Requests broadcast(Buffer data, int root, Stream&) override {
    mine() = data;
    world_.barrier.arrive_and_wait();
    if (rank_ != root)
      std::memcpy(data.data, world_.buffers[static_cast<std::size_t>(root)].data,
                  static_cast<std::size_t>(data.count) * size_of(data.type));
    world_.barrier.arrive_and_wait();
    return std::make_unique<FinishedRequest>();
  }
  Requests alltoall(Buffer, Buffer, Stream&) override { no("alltoall"); }
  void barrier() override { world_.barrier.arrive_and_wait(); }
  [[noreturn]] void abort(const std::string&) override { std::abort(); }

  void maximum(std::span<double> values) override {
    world_.doubles[static_cast<std::size_t>(rank_)] = values;
    world_.barrier.arrive_and_wait();
    std::vector<double> most(values.begin(), values.end());
    for (const std::span<double>& other : world_.doubles) {
      if (other.size() != most.size()) std::abort();  // ranks out of step: no test may pass over it
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
    }
    world_.barrier.arrive_and_wait();
    std::copy(most.begin(), most.end(), values.begin());
  }
  double agree(double value) override {
    world_.doubles[static_cast<std::size_t>(rank_)] = std::span(&value, 1);
    world_.barrier.arrive_and_wait();
    const double result = world_.doubles[0][0];
    world_.barrier.arrive_and_wait();
    return result;
  }
  std::vector<std::string> gather(const std::string& text) override {
    world_.texts[static_cast<std::size_t>(rank_)] = text;
    world_.barrier.arrive_and_wait();
    const std::vector<std::string> all = world_.texts;
    world_.barrier.arrive_and_wait();
    return all;
  }

 private:
  [[noreturn]] static void no(const char* call) {
    throw CaseError(std::string("threads have no ") + call + " (a test's transport).");
  }
  Buffer& mine() { return world_.buffers[static_cast<std::size_t>(rank_)]; }
  ThreadWorld& world_;
  int rank_;
};

/// Runs `body(communicator)` on `ranks` threads and waits for all.
inline void on_threads(int ranks, const std::function<void(Communicator&)>& body) {
  ThreadWorld world(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&world, &body, rank] {
      ThreadCommunicator communicator(world, rank);
      body(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay::testing_fakes
