#pragma once
// The batches of checked and audited steps, judged by what the parameters of the case say.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/batch_oracle.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class JudgedBatches {
 public:
  /// `seed`: of the run, without its trial. `ranks` must outlive it.
  JudgedBatches(const Settings& settings, const DefinedInput& input, std::uint64_t seed,
                Communicator& ranks)
      : oracle_(DataClaims(settings, input, seed), ranks.rank()), ranks_(ranks) {}

  /// Judges a batch that the trainer has just loaded.
  void judge(const Batch& batch, Trainer& trainer);
  /// Quickly checks a batch that a timed step has taken; to be called between timed steps.
  void glance(const Batch& batch) {
    if (fault_.empty()) fault_ = oracle_.glance(batch);
  }
  /// The first fault, on any rank, of the batches since the last call; a sample that several ranks
  /// have is also a fault. "" if there is none. Collective.
  std::string take_fault();

 private:
  using Sample = std::array<std::int64_t, 2>;  ///< epoch and sample
  std::string fault_of_repeats();

  BatchOracle oracle_;
  Communicator& ranks_;
  std::string fault_;
  std::vector<Sample> samples_;
};

}  // namespace assay
