#include "models/network/judged_batches.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>
#include <utility>

#include "core/measure/rank_failure.hpp"

namespace assay {

void JudgedBatches::judge(const Batch& batch, Trainer& trainer) {
  if (fault_.empty()) fault_ = oracle_.fault(batch, true);
  if (fault_.empty()) fault_ = BatchOracle::fault_of_copy(batch, trainer.executor());
  if (oracle_.claims().kind == DataClaims::Kind::one_batch) return;
  for (const std::int64_t sample : batch.samples)
    samples_ += fmt::format("{}/{} ", batch.epoch + 1, sample);
}

/// A bad sample is replaced by the next good one, which then comes twice.
std::string JudgedBatches::fault_of_repeats() {
  std::set<std::string> taken;
  std::int64_t repeated = 0;
  std::string last;
  for (const std::string& of_rank : ranks_.allgather(std::exchange(samples_, {}))) {
    std::istringstream all(of_rank);
    for (std::string sample; all >> sample;)
      if (!taken.insert(sample).second) {
        ++repeated;
        last = sample;
      }
  }
  if (repeated <= oracle_.claims().bad_samples) return "";
  return fmt::format("{} samples come more than once in a step of all ranks (epoch/sample {})",
                     repeated, last);
}

std::string JudgedBatches::take_fault() {
  const std::string repeats = fault_of_repeats(),
                    found = fault_of_any(std::exchange(fault_, {}), ranks_);
  return found.empty() ? repeats : found;
}

}  // namespace assay
