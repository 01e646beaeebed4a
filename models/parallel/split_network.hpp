#pragma once
// One rank's part of a network whose layers are divided: its nodes, and their sums over the ranks.

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// The checks of a pass: nodes that are compared with their oracles; sums are all compared.
struct SplitCheck {
  std::set<std::size_t> nodes{};
  std::uint64_t seed = 1;
  Verification found{};
};

class SplitNetwork {
 public:
  /// Its graph is the same on all ranks. UnsupportedCase if no backend computes a node, or if the
  /// ranks cannot add a value. `adding` connects the same ranks and adds; all arguments but `graph`
  /// must outlive it. Collective.
  SplitNetwork(const Graph& graph, const ExecutorSettings& settings, Plugins& plugins,
               Communicator& ranks, Communicator& adding);

  Executor& executor() { return *executor_; }
  const Graph& graph() const { return executor_->graph(); }
  /// Runs the nodes of a phase. Collective.
  void run(Phase phase, SplitCheck* check = nullptr);
  void put_number(ValueIndex value, double number);
  /// Seconds that sums have taken since the last call.
  double take_seconds() { return std::exchange(seconds_, 0); }
  /// How values are added, as far as it is known.
  Executed executed_sum() const;
  /// Bytes that a pass adds.
  double summed_bytes() const;
  /// Measured seconds of the sums of a pass, each by itself. Collective.
  double measure_sums();

 private:
  Call call_of(ValueIndex value) const;
  void add(const GraphNode& node, SplitCheck* check);

  Communicator &ranks_, &adding_;
  std::unique_ptr<Executor> executor_;
  double seconds_ = 0;
};

}  // namespace assay
