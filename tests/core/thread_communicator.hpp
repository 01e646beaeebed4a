#pragma once
// Ranks as threads of one process: a real transport through shared memory, small enough to read.
// Serves tests of what all ranks must do alike. Sends are buffered or, where the world says so,
// wait for their receive (an algorithm that relies on buffering then hangs, as it would on a
// network).

#include <algorithm>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"

namespace assay::testing_fakes {

/// Data that the threads share.
struct ThreadWorld {
  explicit ThreadWorld(int ranks, int ranks_per_node = 0)
      : barrier(ranks),
        calls(static_cast<std::size_t>(ranks)),
        texts(calls.size()),
        doubles(calls.size()) {
    for (int rank = 0; rank < ranks; ++rank)
      node.push_back(ranks_per_node > 0 ? rank / ranks_per_node : 0);
  }
  std::barrier<> barrier;
  std::vector<Call> calls;
  std::vector<std::string> texts;
  std::vector<std::span<double>> doubles;
  std::vector<int> node;  ///< by rank

  // Messages by (from, to, tag); the nth one sent is for the nth receive that is started.
  struct Message {
    Buffer data;               ///< the sender's, until it is copied
    std::vector<char> copied;  ///< of buffered sends
    bool taken = false;
  };
  using Mail = std::vector<std::shared_ptr<Message>>;
  bool buffered = false;
  bool tags = true;  ///< else all count as 0, as in the libraries that have none
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int>, Mail> mail;

  // Worlds that split() has made, by (number of the split, color).
  std::map<std::pair<int, int>, std::shared_ptr<ThreadWorld>> parts;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadWorld> world, int rank)
      : world_(std::move(world)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_->calls.size()); }
  int node() const override { return world_->node[static_cast<std::size_t>(rank_)]; }
  int nodes() const override {
    return 1 + *std::max_element(world_->node.begin(), world_->node.end());
  }
  std::string host() const override { return "threads" + std::to_string(node()); }

  std::unique_ptr<Communicator> split(int color, int key) override {
    const std::vector<std::string> all =
        allgather(std::to_string(color) + " " + std::to_string(key));
    std::vector<std::tuple<int, int>> members;  // (key, rank) of my color
    for (int rank = 0; rank < size(); ++rank) {
      const std::string& text = all[static_cast<std::size_t>(rank)];
      const std::size_t space = text.find(' ');
      if (std::stoi(text.substr(0, space)) == color)
        members.emplace_back(std::stoi(text.substr(space)), rank);
    }
    std::sort(members.begin(), members.end());
    int mine = 0;
    while (std::get<1>(members[static_cast<std::size_t>(mine)]) != rank_) ++mine;
    const int number = splits_++;
    std::shared_ptr<ThreadWorld> part;
    {
      const std::lock_guard lock(world_->mutex);
      auto& slot = world_->parts[{number, color}];
      if (!slot) {
        slot = std::make_shared<ThreadWorld>(static_cast<int>(members.size()));
        slot->buffered = world_->buffered;
        slot->tags = world_->tags;
        std::map<int, int> index;  // nodes are counted anew among the members
        for (const auto& [unused, rank] : members)
          index.emplace(world_->node[static_cast<std::size_t>(rank)], 0);
        int next = 0;
        for (auto& [node, place] : index) place = next++;
        for (std::size_t i = 0; i < members.size(); ++i)
          slot->node[i] = index[world_->node[static_cast<std::size_t>(std::get<1>(members[i]))]];
      }
      part = slot;
    }
    return std::make_unique<ThreadCommunicator>(part, mine);
  }

  std::string why_not(const Call& call) const override { return why_not_counts(call, size()); }
  void prepare(const Call&) override {}

  /// Every rank makes its own result from all contributions, in fp64 and in the order of ranks.
  void run(const Call& call, Stream&) override {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    world_->calls[static_cast<std::size_t>(rank_)] = call;
    world_->barrier.arrive_and_wait();
    std::vector<char> result;
    if (call.what != Collective::barrier) result = result_of(call);
    world_->barrier.arrive_and_wait();
    if (!result.empty()) std::memcpy(call.receive.data, result.data(), result.size());
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

  bool has_tags() const override { return world_->tags; }
  Request send(Buffer data, int to, int tag, Stream&) override {
    if (!world_->tags) tag = 0;
    auto message = std::make_shared<ThreadWorld::Message>();
    message->data = data;
    if (world_->buffered) {
      const char* from = static_cast<const char*>(data.data);
      message->copied.assign(from, from + data.bytes());
    }
    {
      const std::lock_guard lock(world_->mutex);
      world_->mail[{rank_, to, tag}].push_back(message);
    }
    world_->changed.notify_all();
    if (world_->buffered) return {};
    return remember([this, message] {
      const std::lock_guard lock(world_->mutex);
      return message->taken;
    });
  }
  Request receive(Buffer data, int from, int tag, Stream&) override {
    if (!world_->tags) tag = 0;
    const std::size_t number = received_[{from, tag}]++;
    return remember([this, data, from, tag, number] {
      const std::lock_guard lock(world_->mutex);
      const ThreadWorld::Mail& box = world_->mail[{from, rank_, tag}];
      if (box.size() <= number) return false;
      ThreadWorld::Message& message = *box[number];
      if (message.data.bytes() != data.bytes())
        throw CaseError("received " + std::to_string(message.data.bytes()) + " bytes where " +
                        std::to_string(data.bytes()) + " were expected");
      if (data.count > 0)
        std::memcpy(data.data, world_->buffered ? message.copied.data() : message.data.data,
                    data.bytes());
      message.taken = true;
      world_->changed.notify_all();
      return true;
    });
  }
  /// All that was started is on its way, whichever is waited for: the other side of an exchange may
  /// wait for its own send alone.
  void wait(Request& request) override {
    while (!done(request)) {
      std::unique_lock lock(world_->mutex);
      world_->changed.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
  bool done(Request& request) override {
    if (request.handle == 0) return true;
    for (auto& [number, finished] : started_)
      if (finished && finished()) finished = nullptr;
    if (started_.at(request.handle)) return false;
    started_.erase(request.handle);
    request = {};
    return true;
  }
  void barrier() override { world_->barrier.arrive_and_wait(); }
  [[noreturn]] void abort(const std::string&, ExitCode) override { std::abort(); }

  void allreduce_max(std::span<double> values) override {
    world_->doubles[static_cast<std::size_t>(rank_)] = values;
    world_->barrier.arrive_and_wait();
    std::vector<double> most(values.begin(), values.end());
    for (const std::span<double>& other : world_->doubles) {
      if (other.size() != most.size()) std::abort();  // ranks out of step: no test may pass over it
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], other[i]);
    }
    world_->barrier.arrive_and_wait();
    std::copy(most.begin(), most.end(), values.begin());
  }
  double broadcast(double value) override {
    world_->doubles[static_cast<std::size_t>(rank_)] = std::span(&value, 1);
    world_->barrier.arrive_and_wait();
    const double result = world_->doubles[0][0];
    world_->barrier.arrive_and_wait();
    return result;
  }
  std::vector<std::string> allgather(const std::string& text) override {
    world_->texts[static_cast<std::size_t>(rank_)] = text;
    world_->barrier.arrive_and_wait();
    const std::vector<std::string> all = world_->texts;
    world_->barrier.arrive_and_wait();
    return all;
  }

 private:
  Request remember(std::function<bool()> finished) {
    started_.emplace(++last_, std::move(finished));
    return {last_};
  }

  static std::vector<double> decoded(Buffer buffer) {
    std::vector<double> values(static_cast<std::size_t>(buffer.count));
    decode(buffer.type, buffer.data, values);
    return values;
  }

  /// Elements [first, first + count) of the contributions, combined.
  std::vector<double> combined(const Call& call, std::int64_t first, std::int64_t count) const {
    std::vector<double> sum;
    for (const Call& other : world_->calls) {
      const std::vector<double> contribution = decoded(other.send.part(first, count));
      if (sum.empty()) {
        sum = contribution;
        continue;
      }
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (call.op == ReduceOp::max)
          sum[i] = std::max(sum[i], contribution[i]);
        else if (call.op == ReduceOp::min)
          sum[i] = std::min(sum[i], contribution[i]);
        else
          sum[i] += contribution[i];
      }
    }
    if (call.op == ReduceOp::average)
      for (double& value : sum) value /= size();
    return sum;
  }

  std::vector<char> result_of(const Call& call) const {
    std::vector<char> result;
    const auto append = [&](Buffer part) {
      const char* from = static_cast<const char*>(part.data);
      result.insert(result.end(), from, from + part.bytes());
    };
    const auto encoded = [&](const std::vector<double>& values) {
      result.resize(values.size() * size_of(call.receive.type));
      encode(call.receive.type, values, result.data());
    };
    switch (call.what) {
      case Collective::allreduce:
        encoded(combined(call, 0, call.send.count));
        break;
      case Collective::reduce:
        if (rank_ == call.root) encoded(combined(call, 0, call.send.count));
        break;
      case Collective::reduce_scatter:
        encoded(combined(call, rank_ * call.receive.count, call.receive.count));
        break;
      case Collective::allgather:
        for (const Call& other : world_->calls) append(other.send);
        break;
      case Collective::broadcast:
        append(world_->calls[static_cast<std::size_t>(call.root)].receive);
        break;
      case Collective::alltoall:
        for (const Call& other : world_->calls) {
          const std::int64_t part = other.send.count / size();
          append(other.send.part(rank_ * part, part));
        }
        break;
      case Collective::barrier:
        break;
    }
    return result;
  }

  std::shared_ptr<ThreadWorld> world_;
  int rank_;
  int splits_ = 0;
  std::map<std::pair<int, int>, std::size_t> received_;  ///< by (from, tag)
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, std::function<bool()>> started_;  ///< null once done
};

/// Runs `body(communicator)` on `ranks` threads and waits for all.
inline void on_threads(int ranks, const std::function<void(Communicator&)>& body,
                       int ranks_per_node = 0, bool tags = true) {
  const auto world = std::make_shared<ThreadWorld>(ranks, ranks_per_node);
  world->tags = tags;
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
