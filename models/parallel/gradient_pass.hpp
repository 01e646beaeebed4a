#pragma once
// One forward and backward pass of a worker: the gradient of one batch, not summed over ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/parallel/parallel_way.hpp"

namespace assay {

/// The inputs of a pass, beside the weights.
struct PassSettings {
  std::int64_t epoch = 0, batch = 0;  ///< of OrderedBatches
  std::int64_t worker = 0;            ///< whose masks of dropout it has
  double loss_scale = 1;
};

/// Functions that are called within a pass.
struct PassCalls {
  std::function<void()> after_node{};
  std::function<void()> before_gradients{};  ///< before the first node that writes to them
};

class GradientPass {
 public:
  /// `parts` must outlive it.
  explicit GradientPass(const WayParts& parts);

  /// Runs the passes of the undivided network's graph, at its present weights. `check`: its nodes
  /// are compared with their oracles. Returns the mean loss of the batch. Not collective.
  double run(const PassSettings& pass, const PassCalls& calls = {}, StepCheck* check = nullptr);
  /// Gradients of the whole network, after run().
  Buffer gradients();
  /// Weights of the whole network, which all passes read.
  Buffer weights();
  /// Rounds the 16-bit copies of the weights, where the network has them.
  void store();
  /// Adds the statistics of the last pass to moving averages.
  void average_statistics(std::vector<double>& running) const;

  std::int64_t runs() const {
    return runs_;
  }  ///< passes of this rank's graph, counted by its nodes
  const std::string& fault() const { return batches_.fault(); }
  OrderedBatches& batches() { return batches_; }

 private:
  /// Another worker's masks: the nodes of dropout alone, with its keys, in the network's memory.
  /// nullptr if the network's own nodes have them.
  Executor* make_masks(std::int64_t worker);

  WayParts parts_;
  OrderedBatches batches_;
  std::unique_ptr<Executor> masks_;  ///< of masks_worker_
  std::int64_t masks_worker_ = -1;
  const std::size_t first_gradient_;  ///< the first node that writes to gradients
  std::int64_t runs_ = 0;
  bool loaded_ = false;  ///< the one batch of data that stay in memory
};

/// Why one rank cannot make the steps of all again with the same bits: ranks compute other
/// gradients of the same batch, or one does when it repeats it. "" if they do not. `replayed`: bits
/// are compared; else a rank may add in no fixed order. Leaves the undivided network as
/// Trainer::initialise(). Collective.
std::string why_other_bits(const WayParts& parts, bool replayed);

}  // namespace assay
