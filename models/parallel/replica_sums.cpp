#include "models/parallel/replica_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/ranks.hpp"

namespace assay {

ReplicaSums::ReplicaSums(const Grid& grid, std::int64_t passes) : grid_(grid), passes_(passes) {
  if (Communicator* const ranks = grid_.replicas())
    sum_ = std::make_unique<RankSum>(*ranks, *ranks);
}

void ReplicaSums::prepare(const Executor& executor) const {
  if (sum_) sum_->prepare(executor, executor.graph().gradients, "of gradients");
}

void ReplicaSums::begin(std::vector<double>& running) {
  if (grid_.groups() == 1) return;
  before_ = running;
  std::ranges::fill(running, 0);
}

/// A moving average is linear in the averaged values. So the average over all passes is the sum of
/// the groups' averages, each reduced by the passes of later groups.
void ReplicaSums::run(const Executor& executor, std::vector<double>& running) {
  Communicator* const ranks = grid_.replicas();
  if (ranks == nullptr) return;
  executor.device().stream().wait();
  sum_->run(executor, executor.graph().gradients);
  const auto left = [&](int groups) {
    return std::pow(1 - statistics_momentum, static_cast<double>(groups * passes_));
  };
  for (double& average : running) average *= left(grid_.groups() - 1 - grid_.index());
  if (!running.empty()) RankCalls(*ranks).sum(running);
  for (std::size_t i = 0; i < running.size(); ++i) running[i] += left(grid_.groups()) * before_[i];
}

void ReplicaSums::judge_gradients(const Executor& executor, const std::vector<double>& own,
                                  Verification& verification) const {
  if (grid_.groups() == 1) return;
  const ValueIndex gradients = executor.graph().gradients;
  compare_sums(own, read_values(executor, gradients), executor.graph().value(gradients).type,
               "of the gradients of groups", *grid_.replicas(), verification);
}

void ReplicaSums::judge_copies(const Executor& executor, const std::vector<double>& running,
                               double allowed, Verification& verification) const {
  if (grid_.groups() == 1) return;
  Communicator* const ranks = grid_.replicas();
  const auto judge = [&](const std::vector<double>& own, const char* what) {
    if (own.empty()) return;
    std::vector<double> of_first = own;
    RankCalls(*ranks).broadcast(of_first);
    verification.checked += std::ssize(own);
    if (const double relative = relative_difference(own, of_first); !(relative <= allowed))
      verification.fail(
          fmt::format("the {} of group {} differ by {:.3g} of their 2-norm from those of "
                      "the first group",
                      what, grid_.index() + 1, relative));
  };
  judge(read_values(executor, executor.graph().weights), "weights");
  judge(running, "moving averages");
}

}  // namespace assay
