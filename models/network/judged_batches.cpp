#include "models/network/judged_batches.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"

namespace assay {

void JudgedBatches::judge(const Batch& batch, Trainer& trainer) {
  if (fault_.empty()) fault_ = oracle_.fault(batch, true);
  if (fault_.empty()) fault_ = BatchOracle::fault_of_copy(batch, trainer.executor());
  if (oracle_.claims().kind == DataClaims::Kind::one_batch) return;
  const auto epoch = static_cast<std::int64_t>(batch.epoch) + 1;
  for (const std::int64_t sample : batch.samples) samples_.push_back({epoch, sample});
}

/// A bad sample is replaced by the next good one, which then comes twice.
std::string JudgedBatches::fault_of_repeats() {
  std::set<Sample> taken;
  std::int64_t repeated = 0;
  Sample last{};
  for (const std::vector<Sample>& of_rank : allgather_lists(std::exchange(samples_, {}), ranks_))
    for (const Sample& sample : of_rank)
      if (!taken.insert(sample).second) {
        ++repeated;
        last = sample;
      }
  if (repeated <= oracle_.claims().bad_samples) return "";
  return fmt::format("{} samples come more than once in a step of all ranks (epoch/sample {}/{})",
                     repeated, last[0], last[1]);
}

std::string JudgedBatches::take_fault() {
  const std::string repeats = fault_of_repeats(),
                    others = find_fault_of_any(std::exchange(fault_, {}), ranks_);
  return others.empty() ? repeats : others;
}

}  // namespace assay
