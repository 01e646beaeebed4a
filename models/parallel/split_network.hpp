#pragma once
// One rank's part of a network with divided layers: its nodes, and their sums over the ranks.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"
#include "models/parallel/rank_sum.hpp"

namespace assay {

/// The checks of a pass: the nodes that are compared with their oracles. All sums are compared.
struct SplitCheck {
  std::set<std::size_t> nodes{};
  std::uint64_t seed = 1;
  Verification verification{};
};

/// Seconds of the sums of a step, and of the computation before each sum.
struct SplitSeconds {
  double sums = 0;
  std::vector<double> before{};
};

class SplitNetwork {
 public:
  /// `graph` is the same on all ranks. UnsupportedCase if no backend computes a node, or if the
  /// ranks cannot add a value. `adding` connects the same ranks and adds; `on_device`: see RankSum.
  /// All arguments except `graph` must outlive this object. Collective.
  SplitNetwork(const Graph& graph, const ExecutorSettings& settings, Plugins& plugins,
               Communicator& ranks, Communicator& adding, bool on_device = false);

  Executor& executor() const { return *executor_; }
  const Graph& graph() const { return executor_->graph(); }
  /// Runs the nodes of a phase. Collective.
  void run(Phase phase, SplitCheck* check = nullptr);
  void put_number(ValueIndex value, double number);
  /// Begins a step: its seconds count from now.
  void begin_step();
  /// Since begin_step().
  const SplitSeconds& seconds() const { return seconds_; }
  /// How values are added, as far as known.
  Execution sum_execution() const;
  /// Number of values that a pass adds over the ranks, and their bytes.
  std::ptrdiff_t sums() const;
  double summed_bytes() const;
  /// Seconds of the sums of some passes on this rank, one pass after the other. Each sum is
  /// measured within its pass, so that the caches contain the memory of the pass, but begins on all
  /// ranks at the same time. Collective.
  std::vector<double> measure_sums();

 private:
  RankSum sum_;
  std::unique_ptr<Executor> executor_;
  SplitSeconds seconds_;
  std::chrono::steady_clock::time_point last_;  ///< end of the last sum, or begin of the step
};

}  // namespace assay
