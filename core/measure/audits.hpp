#pragma once
// Checks among the timed runs, at moments that a computation cannot know. Internal to timing.cpp.

#include <chrono>
#include <random>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Without them nothing proves that a timed run computed anything: outputs would still hold what an
/// earlier run had computed from the same inputs.
class Audits {
 public:
  /// One check is to be made before the sample `before` of a chunk.
  struct Moment {
    int before = 0;
    Audit kind = Audit::poisoned_outputs;
  };

  Audits(Sampler& sampler, Communicator& ranks);

  /// Moments among the next `count` samples; rank 0 draws them for all. One in the first chunk, and
  /// in each later one while checks have taken less than a fifth of `elapsed` seconds.
  std::vector<Moment> plan(int count, double elapsed);

  /// The kinds to check when the last sample has been taken, which a computation cannot know
  /// either: both, or with `slow` (a single run exceeds the budget) new inputs alone, for which
  /// nothing that an earlier run left is right.
  static std::vector<Audit> last(bool slow);

  /// Makes the checks of a moment; false when the results were wrong on any rank. All ranks call
  /// it. Outputs are poisoned twice in a row, so that computing every second run does not help.
  /// Where samples follow, ends with a run that is not timed, since reading the results has changed
  /// what the caches hold.
  bool run(Audit kind, bool samples_follow);

  /// Throws CaseError ("impossible: …") where no run on poisoned outputs came near `median`
  /// seconds, those of a run: 4 times as long and 0.5 ms (several ranks: 20 ms, since they share
  /// processors) are allowed. Makes more such runs before it does.
  void compare_with(double median);

  /// What was found: the worst of this rank.
  const Verification& found() const { return found_; }
  int runs() const { return runs_; }
  /// Seconds on the wall that all checks took.
  double seconds() const { return seconds_; }

 private:
  double checked_run(Audit kind);
  double ordinary_run();

  Sampler& sampler_;
  Communicator& ranks_;
  std::mt19937_64 random_;
  Verification found_;
  double fastest_ = -1;  ///< of the runs on poisoned outputs
  double seconds_ = 0;
  int runs_ = 0;
  bool first_ = true;
};

}  // namespace assay
