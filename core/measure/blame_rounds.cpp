#include "core/measure/blame_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/measure/arrival.hpp"
#include "core/measure/blame_recorder.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {
namespace {

constexpr double shortest_work = 2e-3, longest_work = 20e-3;
constexpr double part_of_max_time = 0.1;  ///< of max_time
constexpr double least_rounds = 16, most_rounds = 1000;
constexpr double longest_rounds = 2;  ///< seconds for least_rounds, or max_time

/// Work without memory accesses: each step needs the previous one.
std::uint64_t make_steps(std::uint64_t steps) {
  volatile std::uint64_t last = 0;
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < steps; ++i)
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  last = state;
  return last;
}

/// Steps of work that rank 0 does in this many seconds; all ranks get the same work.
std::uint64_t count_steps(double seconds, Communicator& ranks) {
  constexpr std::uint64_t tried = 200000;
  double least = 1;
  for (int i = 0; i < 5; ++i) {
    const double start = raw_seconds();
    make_steps(tried);
    least = std::min(least, raw_seconds() - start);
  }
  return static_cast<std::uint64_t>(
      ranks.broadcast(std::max(1.0, static_cast<double>(tried) * seconds / std::max(least, 1e-9))));
}

}  // namespace

Blame blame_in_rounds(Workload& workload, Sampler& sampler, Communicator& ranks,
                      const RoundsOptions& options) {
  const double seconds = std::clamp(options.run_seconds, shortest_work, longest_work);
  const double round = ranks.broadcast(seconds + options.run_seconds);
  if (least_rounds * round > std::max(longest_rounds, options.max_time)) {
    Blame none;
    none.unsupported = fmt::format("{:.0f} further runs take too long", least_rounds);
    return none;
  }
  const auto rounds = static_cast<int>(
      std::clamp(part_of_max_time * options.max_time / round, least_rounds, most_rounds));
  const std::uint64_t steps = count_steps(seconds, ranks);
  std::vector<Arrival> arrivals;
  arrivals.reserve(static_cast<std::size_t>(rounds));
  sampler.set_deadline(std::nullopt);
  sampler.set_prelude([&] {
    Arrival arrival;
    arrival.begun = raw_seconds();
    const double used = process_seconds();
    make_steps(steps);
    arrival.processor = process_seconds() - used;
    arrival.at = raw_seconds();
    arrivals.push_back(arrival);
  });
  BlameRecorder recorder(ranks, {"rounds of equal work, not timed", options.network});
  recorder.begin();
  for (int i = 0; i < rounds; ++i) {
    const double wait = sampler.once();
    if (arrivals.size() <= static_cast<std::size_t>(i)) break;  // a rank has failed
    arrivals.back().wait = wait;
    arrivals.back().run = arrivals.back().at - arrivals.back().begun + wait;
  }
  sampler.set_prelude({});
  sampler.settle();
  recorder.end(arrivals);
  workload.take_done();  // these runs are not samples
  return recorder.make_blame();
}

}  // namespace assay
