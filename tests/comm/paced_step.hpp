#pragma once
// A training step of all ranks over the paced transport: computation by waiting, buckets of
// gradients that real algorithms add meanwhile. Every sum is checked.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/algorithms/algorithm.hpp"
#include "core/api/host_device.hpp"
#include "tests/comm/paced_communicator.hpp"

namespace assay::testing_paced {

struct PacedBucket {
  std::int64_t elements = 0;  ///< fp32
  double ready = 0;           ///< seconds after the start of the step
};

struct PacedWork {
  std::vector<PacedBucket> buckets;
  double computed = 0;  ///< seconds of forward and backward pass
  double update = 0;
};

/// Makes the algorithm of one rank.
using MakeAlgorithm = std::function<std::unique_ptr<Communicator>(Communicator&)>;

/// One of algorithms(), by name.
inline MakeAlgorithm algorithm_of(const std::string& name, const Options& options = {}) {
  return [name, options](Communicator& transport) {
    for (const AlgorithmEntry& entry : algorithms()) {
      if (entry.name != name) continue;
      auto made = entry.make(transport, transport, options);
      if (const auto* refusal = std::get_if<Unsupported>(&made))
        throw std::logic_error(refusal->reason);
      return std::move(std::get<std::unique_ptr<Communicator>>(made));
    }
    throw std::logic_error("no algorithm " + name);
  };
}

/// A rank: its algorithm over its transport, and its gradients.
class PacedRank {
 public:
  PacedRank(PacedWorld& world, int rank, const PacedWork& work)
      : transport(world, rank), work_(work), requests_(work.buckets.size()) {
    for (const PacedBucket& bucket : work.buckets) {
      auto& values = gradients_.emplace_back();
      for (std::int64_t i = 0; i < bucket.elements; ++i)
        values.push_back(static_cast<float>(rank % 5 + i % 3));
    }
  }
  /// Starts the allreduces that are ready, and follows those under way. True if all are done.
  bool advance() {
    transport.polls();
    for (; started_ < requests_.size() && work_.buckets[started_].ready <= now(); ++started_) {
      const Buffer data{gradients_[started_].data(), work_.buckets[started_].elements,
                        DataType::fp32};
      requests_[started_] =
          algorithm->start({Collective::allreduce, data, data, ReduceOp::sum, 0}, stream_);
    }
    bool all = started_ == requests_.size();
    for (std::size_t i = 0; i < started_; ++i) all = algorithm->done(requests_[i]) && all;
    return all;
  }
  /// When the next bucket will be ready.
  double next_ready() const {
    return started_ < requests_.size() ? work_.buckets[started_].ready : work_.computed;
  }
  /// Throws where an element is wrong.
  void check() const {
    float ranks_sum = 0;
    for (int rank = 0; rank < transport.size(); ++rank) ranks_sum += static_cast<float>(rank % 5);
    for (const std::vector<float>& values : gradients_)
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] !=
            ranks_sum + static_cast<float>(transport.size()) * static_cast<float>(i % 3))
          throw std::logic_error("a sum over the paced ranks is wrong");
  }
  double now() const { return clock_ ? clock_() : 0; }
  void set_clock(std::function<double()> clock) { clock_ = std::move(clock); }

  PacedCommunicator transport;
  std::unique_ptr<Communicator> algorithm;

 private:
  const PacedWork& work_;
  std::vector<std::vector<float>> gradients_;
  std::vector<Request> requests_;
  std::size_t started_ = 0;
  HostStream stream_;
  std::function<double()> clock_;
};

/// Ranks whose algorithms are made (which takes all of them at once: it is collective).
inline std::vector<std::unique_ptr<PacedRank>> paced_ranks(PacedWorld& world,
                                                           const MakeAlgorithm& make,
                                                           const PacedWork& work) {
  std::vector<std::unique_ptr<PacedRank>> ranks;
  for (int rank = 0; rank < world.size(); ++rank)
    ranks.push_back(std::make_unique<PacedRank>(world, rank, work));
  std::vector<std::thread> threads;
  for (auto& rank : ranks)
    threads.emplace_back([&make, &rank] { rank->algorithm = make(rank->transport); });
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

/// Time passes from event to event: a bucket is ready, a message has come.
class VirtualClock final : public PacedClock {
 public:
  double now() const override { return now_; }
  void sent(double due, int from, int to) override {
    events_.emplace(due, from);
    events_.emplace(due, to);
  }
  void add(double time, int rank) { events_.emplace(time, rank); }
  /// The rank of the next event, at whose time it is then; -1 where there is none.
  int next() {
    if (events_.empty()) return -1;
    const auto [time, rank] = events_.top();
    events_.pop();
    now_ = time;
    return rank;
  }

 private:
  double now_ = 0;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      events_;
};

/// Seconds of a step, by simulation.
inline double virtual_step(int size, const std::vector<PacedLevel>& levels,
                           const MakeAlgorithm& make, const PacedWork& work, bool tags = false) {
  VirtualClock clock;
  PacedWorld world(size, levels, clock, tags);
  const auto ranks = paced_ranks(world, make, work);
  for (int rank = 0; rank < size; ++rank) {
    ranks[static_cast<std::size_t>(rank)]->set_clock([&] { return clock.now(); });
    for (const PacedBucket& bucket : work.buckets) clock.add(bucket.ready, rank);
  }
  double end = work.computed;
  std::vector<bool> finished(ranks.size(), false);
  for (int rank = clock.next(); rank >= 0; rank = clock.next()) {
    const auto which = static_cast<std::size_t>(rank);
    if (finished[which] || !ranks[which]->advance()) continue;
    finished[which] = true;
    end = std::max(end, clock.now());
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!finished[rank]) throw std::logic_error("the paced ranks wait for each other");
    ranks[rank]->check();
  }
  return end + work.update;
}

/// The wall's time.
class WallClock final : public PacedClock {
 public:
  double now() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Seconds of a step of ranks that are threads and sleep: from the first that begins to the last
/// that ends.
inline double slept_step(int size, const std::vector<PacedLevel>& levels, const MakeAlgorithm& make,
                         const PacedWork& work) {
  WallClock clock;
  PacedWorld world(size, levels, clock);
  const auto ranks = paced_ranks(world, make, work);
  const double start = clock.now() + 0.01 + 0.001 * size;  // all threads are there by then
  std::vector<double> ends(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t which = 0; which < ranks.size(); ++which)
    threads.emplace_back([&, which] {
      PacedRank& rank = *ranks[which];
      rank.set_clock([&] { return clock.now() - start; });
      rank.transport.barrier();
      rank.transport.idle_until(start);
      while (!rank.advance())
        rank.transport.idle_until(rank.now() < work.computed ? start + rank.next_ready()
                                                             : clock.now() + 1);
      rank.transport.idle_until(start + work.computed);
      rank.transport.idle_until(clock.now() + work.update);
      ends[which] = rank.now();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& rank : ranks) rank->check();
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace assay::testing_paced
