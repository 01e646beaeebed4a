// ratio: a training step of 2 to 64 paced ranks that sleep, and its prediction: larger over smaller
// target: <= 1.10
// pairs: 33
// statistic: max
// Real threads run Assay's own algorithms, and DDL's of its parts, over a transport whose messages
// take alpha + beta * bytes (tests/comm/paced_communicator.hpp). They sleep while they compute and
// while messages are on their way, so more ranks than cores do not measure the scheduler.
// tests/analysis/scaling has the same in virtual time for many more shapes.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/scaling/allreduce_cost.hpp"
#include "analysis/scaling/step_time.hpp"
#include "comm/algorithms/schedule.hpp"
#include "tests/comm/paced_step.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace assay {
namespace {

/// Ranks of a node, where there are so many.
constexpr int node = 4;

nlohmann::json steps() {
  const scaling::Network network{{{"node", node, 1e-2, 5e-8, 1}, {"nodes", 0, 2e-2, 5e-7, 2}},
                                 segment_bytes};
  std::vector<testing_paced::PacedLevel> levels;
  for (const scaling::Level& level : network.levels)
    levels.push_back({level.ranks, level.alpha, level.beta, level.links});
  const scaling::Compute compute{0.12, 0.25, 0.02};
  const auto buckets = scaling::make_buckets(std::vector<std::int64_t>(9, 8000), 20000);
  testing_paced::PacedWork work{{}, compute.forward + compute.backward, compute.update};
  for (const scaling::Bucket& bucket : buckets)
    work.buckets.push_back({bucket.elements, compute.forward + compute.backward * bucket.ready});

  nlohmann::json pairs = nlohmann::json::array();
  double worst = 0;
  std::string where;
  for (const char* algorithm : {"ring", "halving_doubling", "hierarchical", "torus2d", "ddl"})
    for (const int ranks : {2, 3, 4, 8, 16, 32, 64}) {
      auto cost = scaling::AllreduceCost::make(algorithm, ranks, network);
      if (std::holds_alternative<Unsupported>(cost)) continue;  // no grid of 2 or 3
      const auto ends = [&](const std::vector<scaling::PendingSum>& asked) {
        return std::get<scaling::AllreduceCost>(cost).ends(asked, 4);
      };
      const double predicted =
          scaling::step_time(compute, buckets, scaling::Overlap::backward, ends).seconds;
      const double slept =
          testing_paced::slept_step(ranks, levels, testing_paced::algorithm_of(algorithm), work);
      const double larger = std::max(slept, predicted), smaller = std::min(slept, predicted);
      pairs.push_back({larger, smaller});
      std::cerr << fmt::format("{:>16} {:>2} ranks: predicted {:.3f} s, slept {:.3f} s\n",
                               algorithm, ranks, predicted, slept);
      if (larger / smaller > worst) {
        worst = larger / smaller;
        where = fmt::format("worst: {} by {} ranks", algorithm, ranks);
      }
    }
  return {{"pairs", pairs}, {"unit", "s"}, {"note", where}};
}

}  // namespace
}  // namespace assay

int main() { return assay::self_benchmark::print(assay::steps); }
