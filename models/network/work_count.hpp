#pragma once
// The work that a network has done, counted by its executor.

#include <cstdint>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Sums over all ranks.
struct NetworkWork {
  double images = 0;   ///< images for which every forward and backward node ran
  double flops = 0;    ///< Problem::flops() of all nodes that ran
  double updates = 0;  ///< of the weights; 0 for an inference
};

class WorkCount {
 public:
  /// The work since the last call. Collective.
  NetworkWork take(const Executor& executor, Communicator& ranks);

 private:
  std::vector<std::int64_t> before_;  ///< by node: Executor::runs() at the last call
};

}  // namespace assay
