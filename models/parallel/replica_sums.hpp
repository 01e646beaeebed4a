#pragma once
// Sums over groups of ranks with the same network but different samples: their gradients and
// statistics after the passes of a step.

#include <cstdint>
#include <memory>
#include <vector>

#include "models/parallel/grid.hpp"
#include "models/parallel/rank_sum.hpp"

namespace assay {

class ReplicaSums {
 public:
  /// `passes`: passes of a step in each group. `grid` must outlive this object. With a single
  /// group, nothing is added.
  ReplicaSums(const Grid& grid, std::int64_t passes);

  /// UnsupportedCase if the ranks cannot add the gradients.
  void prepare(const Executor& executor) const;
  /// The number of this group's pass in the training, counting the passes of the groups one after
  /// the other.
  std::int64_t pass(std::int64_t step, std::int64_t pass) const {
    return (step * grid_.groups() + grid_.index()) * passes_ + pass;
  }
  std::int64_t passes_of_all() const { return grid_.groups() * passes_; }
  /// Call it before the passes of a step. Each pass must be averaged into `running`.
  void begin(std::vector<double>& running);
  /// Call it after the passes: `running` then includes the passes of all groups, one after the
  /// other. Collective.
  void run(const Executor& executor, std::vector<double>& running);
  /// Checks that the gradients are the sum of `own` over the groups. Collective.
  void judge_gradients(const Executor& executor, const std::vector<double>& own,
                       Verification& verification) const;
  /// Checks that all groups have equal weights and averages, up to `allowed` times their 2-norm.
  /// Collective.
  void judge_copies(const Executor& executor, const std::vector<double>& running, double allowed,
                    Verification& verification) const;

 private:
  const Grid& grid_;
  std::int64_t passes_;
  std::unique_ptr<RankSum> sum_;  ///< of the gradients of groups; null: there is one group
  std::vector<double> before_;    ///< averages before the step
};

}  // namespace assay
