#pragma once
// A way to be parallel on one rank of a test, beside its undivided network.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/parallel/parallel_way.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay::network_test {

struct WaySession {
  TrainingRun run;
  std::unique_ptr<Trainer> whole;
  std::unique_ptr<ParallelWay> way;

  WaySession(TrainingRun settings, Communicator& ranks,
             Result<std::unique_ptr<ParallelWay>> (*make_way)(const WayParts&))
      : run(std::move(settings)) {
    whole = made(run.trainer, ranks);
    auto found = make_way({run, plugins(), ranks, *whole});
    if (const auto* const refusal = std::get_if<Unsupported>(&found))
      throw std::runtime_error(refusal->reason);
    way = std::move(std::get<std::unique_ptr<ParallelWay>>(found));
    way->begin();
  }
  /// `judged`: the last steps of them, as many as a timed run has, or all of fewer.
  StepTotals make(std::int64_t first, std::int64_t steps, bool judged, double rate = 0.01) {
    const std::int64_t last = judged ? std::min(steps, steps_of_run(run.parallel)) : 0;
    const auto range = [&](std::int64_t from, std::int64_t count, bool is_judged) {
      return way->make(
          {0, from, std::vector<double>(static_cast<std::size_t>(count), rate), is_judged});
    };
    StepTotals made;
    if (steps > last) made = range(first, steps - last, false);
    if (!judged) return made;
    way->prepare_judge();
    const StepTotals more = range(first + steps - last, last, true);
    made.images += more.images;
    made.flops += more.flops;
    made.losses += more.losses;
    made.batches += more.batches;
    return made;
  }
  Verification judge() {
    Verification found;
    found.passed = true;
    way->judge(found);
    return found;
  }
};

}  // namespace assay::network_test
