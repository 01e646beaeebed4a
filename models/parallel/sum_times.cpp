#include "models/parallel/sum_times.hpp"

#include <algorithm>

#include "core/base/statistics.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

/// Only the numbers of this many first steps are kept.
constexpr std::size_t most_steps = 1024;

/// Gathers the numbers of all ranks on each of them; all ranks have the same number of them.
/// Collective.
std::vector<std::vector<double>> on_all(const std::vector<double>& own, Communicator& ranks) {
  const auto count = std::ssize(own);
  std::vector<double> numbers(static_cast<std::size_t>(count * ranks.size()));
  std::ranges::copy(own, numbers.begin() + ranks.rank() * count);
  RankCalls(ranks).sum(numbers);
  std::vector<std::vector<double>> all;
  for (auto at = numbers.begin(); at != numbers.end(); at += count)
    all.emplace_back(at, at + count);
  return all;
}

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

/// Predicts from the measured times before each sum, and from the times of sums alone: successive
/// steps use the times of successive measured passes.
SumTimes::Prediction SumTimes::predict(const std::vector<double>& alone_s,
                                       Communicator& group) const {
  const std::vector<std::vector<double>> before = on_all(before_, group),
                                         alone = on_all(alone_s, group);
  const auto own = static_cast<std::size_t>(group.rank());
  Prediction of_steps;
  for (std::size_t first = 0; first < before_.size(); first += sums_of_step_) {
    std::vector<double> now(before.size());  // seconds since the step began, by rank
    double waits = 0, sums = 0;
    for (std::size_t sum = first; sum < first + sums_of_step_; ++sum) {
      for (std::size_t rank = 0; rank < now.size(); ++rank) now[rank] += before[rank][sum];
      const double last = std::ranges::max(now);
      waits += last - now[own];
      sums += alone[own][sum % alone[own].size()];
      for (std::size_t rank = 0; rank < now.size(); ++rank)
        now[rank] = last + alone[rank][sum % alone[rank].size()];
    }
    of_steps.alone.push_back(sums);
    of_steps.with_waits.push_back(sums + waits);
  }
  return of_steps;
}

std::map<std::string, Metric> SumTimes::metrics(const std::vector<double>& alone_s,
                                                Communicator& group, Communicator& all) const {
  if (sums_.empty()) return {};
  const Prediction own = predict(alone_s, group);
  const std::vector<std::vector<double>> ranks =
      on_all({median(sums_), median(own.alone), median(own.with_waits)}, all);
  const std::vector<double>& slowest =
      *std::ranges::max_element(ranks, {}, [](const auto& rank) { return rank.front(); });
  return {{"sums_s", {slowest[0], "s", "lower"}},
          {"sums_alone_s", {slowest[1], "s", "lower"}},
          {"sums_waits_predicted_s", {slowest[2] - slowest[1], "s", ""}},
          {"sums_predicted_s", {slowest[2], "s", ""}}};
}

}  // namespace assay
