#pragma once
// One forward and backward pass of a worker: the gradient of one batch, not summed over ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/parallel/parallel_way.hpp"

namespace assay {

/// The inputs of a pass, besides the weights.
struct PassSettings {
  std::int64_t epoch = 0, batch = 0;  ///< of OrderedBatches
  std::int64_t worker = 0;            ///< the pass uses this worker's masks of dropout
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

  /// Runs a forward and a backward pass of the undivided network with its current weights. `check`:
  /// its nodes are compared with their oracles. Returns the mean loss of the batch. Not collective.
  double run(const PassSettings& pass, const PassCalls& calls = {}, StepCheck* check = nullptr);
  /// Gradients of the whole network, after run().
  Buffer gradients();
  /// Weights of the whole network, which all passes read.
  Buffer weights();
  /// Updates the 16-bit copies of the weights, if the network has them.
  void store();
  /// Adds the statistics of the last pass to moving averages.
  void average_statistics(std::vector<double>& running) const;

  std::int64_t runs() const {
    return runs_;
  }  ///< passes of this rank, counted by the nodes of its graph
  const std::string& fault() const { return batches_.fault(); }
  OrderedBatches& batches() { return batches_; }

 private:
  /// An executor of only the dropout nodes, with the keys of another worker, in the network's
  /// memory. nullptr if the network's own nodes have this worker's keys.
  Executor* make_masks(std::int64_t worker);

  WayParts parts_;
  OrderedBatches batches_;
  std::unique_ptr<Executor> masks_;  ///< of masks_worker_
  std::int64_t masks_worker_ = -1;
  const std::size_t first_gradient_;  ///< the first node that writes to gradients
  std::int64_t runs_ = 0;
  bool loaded_ = false;  ///< the only batch of resident data is loaded
};

/// Why one rank cannot repeat the steps of all ranks with the same bits: ranks compute different
/// gradients of the same batch, or a rank does so when it repeats a batch. "" if it can.
/// `replayed`: bits will be compared; if not, a rank may add in any order. Leaves the undivided
/// network as after Trainer::initialise(). Collective.
std::string why_other_bits(const WayParts& parts, bool replayed);

}  // namespace assay
