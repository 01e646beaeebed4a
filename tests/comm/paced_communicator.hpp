#pragma once
// A transport whose messages take alpha + beta * bytes, by levels of links, with a clock that is
// either virtual (a simulation in which nothing is waited for, so its times are exact and the same
// on any machine under any load) or the wall's (ranks are threads, which sleep).
//
// A message occupies its sender for alpha + beta * bytes. Messages that leave a group together
// share its ports, each of which moves beta * bytes. Buffered; receivers may post late.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay::testing_paced {

/// `ranks`: of one group, consecutive; of the outermost level unused. `links`: ports of a group of
/// the next inner level.
struct PacedLevel {
  int ranks = 0;
  double alpha = 0, beta = 0, links = 1;
};

class PacedClock {
 public:
  virtual ~PacedClock() = default;
  virtual double now() const = 0;
  /// A message from a rank to another will have come, and its sender will be free.
  virtual void sent(double /*due*/, int /*from*/, int /*to*/) {}
};

class PacedWorld {
 public:
  struct Message {
    std::vector<char> data;
    double due = std::numeric_limits<double>::infinity();
    double begun = 0;  ///< when `due` was known; a late sender may find it in the past
  };
  using Key = std::tuple<int, int, int>;  ///< from, to, tag

  PacedWorld(int ranks, std::vector<PacedLevel> levels, PacedClock& clock, bool tags = false)
      : clock(clock),
        tags(tags),
        barrier(ranks),
        texts(static_cast<std::size_t>(ranks)),
        changed(texts.size()),
        levels_(std::move(levels)),
        free_(texts.size(), 0),
        queues_(texts.size()) {}

  int size() const { return static_cast<int>(texts.size()); }
  /// The group of the level `level`; all ranks are one group of the outermost.
  int group(int rank, std::size_t level) const {
    return level + 1 >= levels_.size() ? 0 : rank / levels_[level].ranks;
  }
  /// On a single level each rank is a node.
  int node(int rank) const { return levels_.size() == 1 ? rank : group(rank, 0); }

  /// The rank's messages go one after the other. Call with the mutex held.
  void send(int from, int to, std::shared_ptr<Message> message) {
    queues_[static_cast<std::size_t>(from)].push_back({to, clock.now(), std::move(message)});
    progress(from);
  }
  /// Begins the rank's next message, where it is time. Call with the mutex held.
  void progress(int from) {
    auto& queue = queues_[static_cast<std::size_t>(from)];
    double& free = free_[static_cast<std::size_t>(from)];
    while (!queue.empty() && free <= clock.now()) {
      const QueuedMessage next = std::move(queue.front());
      queue.pop_front();
      free = arrival(from, next.to, std::max(free, next.since),
                     static_cast<double>(next.message->data.size()));
      next.message->due = free;
      next.message->begun = clock.now();
      clock.sent(free, from, next.to);
      changed[static_cast<std::size_t>(next.to)].notify_all();
    }
  }

  PacedClock& clock;
  const bool tags;
  std::barrier<> barrier;
  std::vector<std::string> texts;
  std::mutex mutex;
  std::vector<std::condition_variable> changed;  ///< by receiver
  std::map<Key, std::vector<std::shared_ptr<Message>>> mail;

 private:
  struct QueuedMessage {
    int to;
    double since;
    std::shared_ptr<Message> message;
  };
  double arrival(int from, int to, double start, double bytes) {
    std::size_t level = 0;
    while (group(from, level) != group(to, level)) ++level;
    double moved = start;
    for (std::size_t at = 0; at <= level; ++at) {
      moved = std::max(moved, start + levels_[at].beta * bytes);
      if (at == 0) continue;
      double& port = ports_[{at, group(from, at - 1)}];
      port = std::max(port, start) + levels_[at].beta * bytes / levels_[at].links;
      moved = std::max(moved, port);
    }
    return levels_[level].alpha + moved;
  }

  std::vector<PacedLevel> levels_;
  std::vector<double> free_;  ///< from when on each rank can send
  std::vector<std::deque<QueuedMessage>> queues_;
  std::map<std::pair<std::size_t, int>, double> ports_;
};

/// The calls that the algorithms of comm/algorithms make: messages, and texts and numbers to set
/// up.
class PacedCommunicator final : public Communicator {
 public:
  PacedCommunicator(PacedWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }
  int node() const override { return world_.node(rank_); }
  int nodes() const override { return world_.node(size() - 1) + 1; }
  std::string host() const override { return "paced" + std::to_string(node()); }
  std::string why_not(const Call& call) const override { return why_not_counts(call, size()); }
  void prepare(const Call&) override {}
  bool has_tags() const override { return world_.tags; }

  Request send(Buffer data, int to, int tag, Stream&) override {
    auto message = std::make_shared<PacedWorld::Message>();
    const char* from = static_cast<const char*>(data.data);
    message->data.assign(from, from + data.bytes());
    const std::lock_guard lock(world_.mutex);
    world_.mail[{rank_, to, world_.tags ? tag : 0}].push_back(message);
    world_.send(rank_, to, message);
    return remember({message, {}, 0, {}});
  }
  Request receive(Buffer data, int from, int tag, Stream&) override {
    const PacedWorld::Key key{from, rank_, world_.tags ? tag : 0};
    return remember({nullptr, key, received_[key]++, data});
  }
  bool done(Request& request) override {
    if (request.handle == 0) return true;
    const std::lock_guard lock(world_.mutex);
    const PendingTransfer& pending = pending_.at(request.handle);
    const auto message = message_of(pending);
    if (!message || world_.clock.now() < message->due) return false;
    if (pending.data.data != nullptr) {
      if (message->data.size() != pending.data.bytes())
        throw std::logic_error("a message has another length than its receive");
      std::memcpy(pending.data.data, message->data.data(), message->data.size());
      message->data = {};
    }
    pending_.erase(request.handle);
    request = {};
    return true;
  }
  /// Times are on the wall's clock alone.
  void wait(Request& request) override {
    for (polls(); !done(request); polls()) idle_until(world_.clock.now() + 1);
  }
  /// The caller now asks for all that it waits for.
  void polls() {
    const std::lock_guard lock(world_.mutex);
    polled_ = world_.clock.now();
    world_.progress(rank_);
  }
  /// Sleeps until a transfer is done that was not at the last polls(), or until `time`.
  void idle_until(double time) {
    std::unique_lock lock(world_.mutex);
    for (;;) {
      double next = time;
      for (const auto& [number, pending] : pending_)
        if (const auto message = message_of(pending);
            message && std::max(message->due, message->begun) >= polled_)
          next = std::min(next, message->due);
      const double left = next - world_.clock.now();
      if (left <= 0) return;
      world_.changed[static_cast<std::size_t>(rank_)].wait_for(lock,
                                                               std::chrono::duration<double>(left));
    }
  }

  void barrier() override { world_.barrier.arrive_and_wait(); }
  std::vector<std::string> allgather(const std::string& text) override {
    world_.texts[static_cast<std::size_t>(rank_)] = text;
    world_.barrier.arrive_and_wait();
    const std::vector<std::string> all = world_.texts;
    world_.barrier.arrive_and_wait();
    return all;
  }
  void allreduce_max(std::span<double> values) override {
    const auto bytes = std::as_bytes(values);
    for (const std::string& all :
         allgather({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
      for (std::size_t i = 0; i < values.size(); ++i) {
        double theirs = 0;
        std::memcpy(&theirs, all.data() + i * sizeof theirs, sizeof theirs);
        values[i] = std::max(values[i], theirs);
      }
  }
  [[noreturn]] void abort(const std::string&, ExitCode) override { std::abort(); }

  std::unique_ptr<Communicator> split(int, int) override { throw unused("split"); }
  void run(const Call&, Stream&) override { throw unused("run"); }
  Request start(const Call&, Stream&) override { throw unused("start"); }
  double broadcast(double) override { throw unused("broadcast"); }

 private:
  struct PendingTransfer {
    std::shared_ptr<PacedWorld::Message> sent;  ///< of a send
    PacedWorld::Key key;
    std::size_t number = 0;
    Buffer data;
  };
  static std::logic_error unused(const char* what) {
    return std::logic_error(std::string("the paced transport has no ") + what);
  }
  Request remember(PendingTransfer pending) {
    pending_.emplace(++last_, std::move(pending));
    return {last_};
  }
  std::shared_ptr<PacedWorld::Message> message_of(const PendingTransfer& pending) const {
    if (pending.sent) return pending.sent;
    const auto box = world_.mail.find(pending.key);
    if (box == world_.mail.end() || box->second.size() <= pending.number) return nullptr;
    return box->second[pending.number];
  }

  PacedWorld& world_;
  int rank_;
  double polled_ = 0;
  std::uintptr_t last_ = 0;
  std::map<std::uintptr_t, PendingTransfer> pending_;
  std::map<PacedWorld::Key, std::size_t> received_;
};

}  // namespace assay::testing_paced
