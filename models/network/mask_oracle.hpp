#pragma once
// Finds masks of dropout that repeat in a training.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Observes one step at a time. A mask is a function of a key and a counter
/// (kernels/dropout/problem.hpp). Each layer on each rank must have its own key, shared by its
/// backward pass, and each pass of a training its own counter.
class MaskOracle {
 public:
  explicit MaskOracle(const Executor& executor);
  /// Call it before each step, and around each node.
  void begin();
  void before(std::size_t node);
  void after(std::size_t node);
  /// The first fault in the masks of the step that follows `steps` steps of `passes` passes each;
  /// "" if there is none. Collective if there are masks.
  std::string fault(std::int64_t steps, std::int64_t passes, Communicator& ranks) const;

 private:
  struct Run {
    std::size_t node;
    std::int64_t pass;  ///< of the step
    double counter;
  };
  std::string fault_of_passes(std::int64_t steps, std::int64_t passes) const;

  const Executor& executor_;
  std::map<std::size_t, std::string> keys_;  ///< of each dropout, by its node
  std::vector<Run> runs_;
  std::int64_t passes_ = 0;  ///< passes begun in this step
};

}  // namespace assay
