#include "models/parallel/sum_times.hpp"

#include <span>

#include "core/base/statistics.hpp"

namespace assay {
namespace {

/// Steps whose numbers are kept: the first ones.
constexpr std::size_t most_steps = 1024;

}  // namespace

void SumTimes::clear() {
  sums_.clear();
  before_.clear();
  steps_ = 0;
}

void SumTimes::add(const SplitSeconds& of_step) {
  if (steps_ == most_steps) return;
  sums_of_step_ = of_step.before.size();
  if (steps_ == 0) {  // later steps allocate nothing
    sums_.reserve(most_steps);
    before_.reserve(most_steps / 2 * sums_of_step_);
  }
  if (steps_++ % 2 == 0)
    before_.insert(before_.end(), of_step.before.begin(), of_step.before.end());
  else
    sums_.push_back(of_step.sums);
}

std::map<std::string, Metric> SumTimes::metrics(double alone_s, Communicator& group,
                                                Communicator& all) const {
  if (sums_.empty()) return {};
  std::vector<double> last = before_, waits;
  group.allreduce_max(last);
  for (std::size_t first = 0; first < last.size(); first += sums_of_step_) {
    double wait = 0;
    for (std::size_t i = first; i < first + sums_of_step_; ++i) wait += last[i] - before_[i];
    waits.push_back(wait);
  }
  double seconds[] = {median(sums_), median(waits), alone_s};
  all.allreduce_max(seconds);
  return {{"sums_s", {seconds[0], "s", "lower"}},
          {"sums_waits_predicted_s", {seconds[1], "s", ""}},
          {"sums_alone_s", {seconds[2], "s", "lower"}},
          {"sums_predicted_s", {seconds[1] + seconds[2], "s", ""}}};
}

}  // namespace assay
