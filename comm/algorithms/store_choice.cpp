#include "comm/algorithms/store_choice.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <new>

#include "comm/algorithms/schedule.hpp"
#include "comm/algorithms/streamed_copy.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace assay {

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;

using Allocate = std::function<std::shared_ptr<void>(std::size_t bytes)>;

/// A call of the same kind, type and placement as `call`, in its own memory, which holds zeros.
struct Trial {
  std::shared_ptr<void> send, receive;
  Call call;
};

Trial measure_trial(const Call& call, int rank, int size, const Allocate& for_send,
                    const Allocate& for_receive) {
  Trial trial{nullptr, nullptr, call};
  Buffer &send = trial.call.send, &receive = trial.call.receive;
  const bool gathers = call.what == Collective::allgather,
             scatters = call.what == Collective::reduce_scatter;
  // The longer buffer has one part for each rank if the call needs parts.
  const std::int64_t part = gathers || scatters || call.what == Collective::alltoall ? size : 1;
  const std::int64_t count =
      std::min(std::max(send.count, receive.count),
               static_cast<std::int64_t>(most_bytes / size_of(receive.type))) /
      part * part;
  const auto zeros = [](const Allocate& allocate, Buffer& buffer, std::int64_t elements) {
    buffer.count = elements;
    std::shared_ptr<void> memory = allocate(buffer.bytes());
    buffer.data = std::memset(memory.get(), 0, buffer.bytes());
    return memory;
  };
  trial.receive = zeros(for_receive, receive, scatters ? count / size : count);
  if (call.what == Collective::broadcast) return trial;
  trial.send = zeros(for_send, send, gathers ? count / size : count);
  if (!in_place(call, rank)) return trial;
  if (scatters)
    receive = send.part(rank * receive.count, receive.count);
  else
    send = receive.part(gathers ? rank * send.count : 0, send.count);
  return trial;
}

}  // namespace

bool is_faster_when_streamed(Communicator& ranks, const std::function<void(bool streamed)>& run) {
  constexpr int rounds = 7;
  std::vector<double> times[2];
  for (const bool streamed : {false, true}) run(streamed);  // untimed: touches the pages
  for (int round = 0; round < rounds; ++round) {
    double seconds[2];
    for (const bool second : {false, true}) {
      const bool streamed = second != (round % 2 != 0);
      ranks.barrier();
      const auto start = std::chrono::steady_clock::now();
      run(streamed);
      seconds[streamed] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    ranks.allreduce_max(seconds);
    for (const int streamed : {0, 1}) times[streamed].push_back(seconds[streamed]);
  }
  return median(times[1]) < median(times[0]);
}

StoreChoice::Kind::Kind(const Call& call, bool send, bool receive)
    : what(call.what),
      bits(static_cast<int>(std::bit_width(call.receive.bytes()))),
      send_registered(send),
      receive_registered(receive) {}

/// A call in place does not stream: the lines of the result were just read, and so are in the
/// caches.
bool StoreChoice::may_stream(const Call& call) const {
  static const std::size_t least = find_least_streamed_bytes();
  const bool read = call.what == Collective::broadcast ? ranks_.rank() == call.root
                                                       : in_place(call, ranks_.rank());
  return !read && call.receive.bytes() > least;
}

bool StoreChoice::is_streamed(const Call& call, const Kind& kind) const {
  if (!may_stream(call)) return false;
  if (setting_) return *setting_;
  const auto entry = measured_.find(kind);
  return entry != measured_.end() && entry->second;
}

/// Collective. True if some rank has to measure. False for calls of different sizes, which run()
/// refuses.
bool StoreChoice::must_measure(const Call& call, const Kind& kind) const {
  const auto bytes = static_cast<double>(call.receive.bytes());
  double maxima[] = {may_stream(call) && !measured_.contains(kind) ? 1. : 0., bytes, -bytes};
  ranks_.allreduce_max(maxima);
  return maxima[0] > 0 && maxima[1] == -maxima[2];
}

void StoreChoice::measure(const Call& call, const Kind& kind, RegisteredMemory& registered,
                          const Run& run) {
  if (setting_ || !must_measure(call, kind)) return;
  const auto memory = [&](bool in_registered) -> Allocate {
    if (in_registered) return [&](std::size_t bytes) { return registered.allocate(bytes); };
    return [](std::size_t bytes) { return std::make_shared<std::byte[]>(bytes); };
  };
  std::optional<Trial> trial;
  double short_of_memory = 0;
  try {
    trial = measure_trial(call, ranks_.rank(), ranks_.size(), memory(kind.send_registered),
                          memory(kind.receive_registered));
  } catch (const CaseError&) {
    short_of_memory = 1;
  } catch (const std::bad_alloc&) {
    short_of_memory = 1;
  }
  ranks_.allreduce_max({&short_of_memory, 1});
  bool faster = false;
  if (short_of_memory == 0) {
    registered.show();
    faster = is_faster_when_streamed(
        ranks_, [&](bool streamed) { run(trial->call, streamed && may_stream(trial->call)); });
    trial.reset();
    registered.show();  // the other ranks unmap what is freed
  }
  measured_[kind] = faster;
}

}  // namespace assay
