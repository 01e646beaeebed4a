#pragma once
// Audits: checked runs between the timed runs, at random moments. Internal to timing.cpp.

#include <random>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Plans the audits of one case and makes them. Without audits, nothing proves that a timed run
/// computed anything: the outputs could still be those of an earlier run on the same inputs. The
/// moments are random, so that the measured code cannot predict them.
class Audits {
 public:
  /// One audit, made immediately before sample `before` (counted from 0) of a chunk of samples.
  struct Moment {
    int before = 0;
    Audit kind = Audit::poisoned_outputs;
  };

  Audits(Sampler& sampler, Communicator& ranks);

  /// Chooses the audits within the next chunk of `count` samples: one in the first chunk, and one
  /// in each later chunk as long as all audits together have taken less than a fifth of `elapsed`
  /// (seconds since the timed phase began). Collective: rank 0 draws the moments for all ranks.
  std::vector<Moment> plan(int count, double elapsed);

  /// The audits after the last sample (the measured code cannot know which sample is the last):
  /// both kinds. With `slow` (a single run takes longer than the whole time budget) only
  /// new_inputs, because no result of an earlier run is correct for new inputs; twice in a row, so
  /// that code that computes only in every second run is found however few runs there are.
  static std::vector<Audit> last(bool slow);

  /// Makes one audit; false if the results are wrong on any rank. Collective. An audit with
  /// poisoned outputs is two audited runs in a row, so that code that computes only in every second
  /// run is found. If samples follow, the audit ends with an untimed run, because reading the
  /// results has changed the contents of the caches.
  bool run(Audit kind, bool samples_follow);

  /// Throws CaseError ("impossible: …") if the timed runs were much faster than the audited runs
  /// with poisoned outputs, which prove that they compute. `median`: seconds of a timed run. The
  /// fastest audited run may take 4 medians plus 0.5 ms (with several ranks plus 20 ms, because
  /// ranks may share processors). Up to 20 further audited runs are made before it throws.
  void compare_with(double median);

  /// The first failed audit of this rank, or the latest one if none has failed.
  const Verification& verification() const { return verification_; }
  /// Number of audited runs.
  int runs() const { return runs_; }
  /// Wall-clock seconds that all audits took.
  double seconds() const { return seconds_; }

 private:
  double run_and_check(Audit kind);
  double ordinary_run();

  Sampler& sampler_;
  Communicator& ranks_;
  std::mt19937_64 random_;
  Verification verification_;
  double fastest_ = -1;  ///< seconds of the fastest run with poisoned outputs; -1: none yet
  double seconds_ = 0;
  int runs_ = 0;
  bool first_ = true;
};

}  // namespace assay
