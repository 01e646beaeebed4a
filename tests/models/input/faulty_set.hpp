#pragma once
// A set of images that goes wrong while a test wants it, and a run of it.

#include <atomic>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "models/input/input_workload.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {

constexpr std::int64_t faulty_samples = 24;

/// A set whose reads go wrong while a test wants it: so only what is
/// measured sees it, not the check.
class FaultySet final : public SampleSet {
 public:
  enum Fault { none, other_image, other_label, unreadable, png };

  FaultySet() {
    for (int i = 0; i < faulty_samples; ++i) images_.push_back(test_image(i));
  }
  std::int64_t size() const override { return faulty_samples; }
  std::int64_t classes() const override { return 5; }
  std::string canonical() const override { return "faulty"; }
  std::vector<std::int64_t> shards() const override { return {0, 10}; }
  std::string where(std::int64_t index) const override { return "sample " + std::to_string(index); }
  const std::vector<std::string>& faults() const override { return none_; }
  std::vector<std::string> files() const override { return {}; }
  void read(std::int64_t index, Sample& sample) const override {
    const bool now = index == 7 && fault != none && wrong_reads-- > 0;
    if (index == bad) throw BadSample(where(index) + ": damaged");
    if (now && fault == unreadable) throw InputError("the disk is gone");
    const std::int64_t from = now && fault == other_image ? 8 : index;
    sample.encoded = images_[static_cast<std::size_t>(from)];
    if (now && fault == png) sample.encoded = encode_png(picture(test_size(7), 7), test_size(7));
    sample.label = now && fault == other_label ? 4 : index % 5;
  }
  std::atomic<Fault> fault = none;
  mutable std::atomic<int> wrong_reads = 1 << 20;  ///< of sample 7 that still go wrong
  std::int64_t bad = -1;                           ///< a sample that is always damaged

 private:
  std::vector<Bytes> images_;
  std::vector<std::string> none_;
};

inline InputRun run_of_faulty(int rank = 0, int ranks = 1) {
  InputRun run;
  run.pipeline.decode = {16, true, ImageLayout::nhwc, 1};
  run.pipeline.batch = 4;
  run.pipeline.threads = 2;
  run.pipeline.rank = rank;
  run.pipeline.ranks = ranks;
  run.batches = faulty_samples / 4 / ranks;
  return run;
}

/// A case that asks for such a run.
inline InputClaims claims_of(const InputRun& run) {
  InputClaims claims;
  claims.images = run.batches * run.pipeline.batch * run.pipeline.ranks;
  claims.batch = run.pipeline.batch;
  claims.side = run.pipeline.decode.size;
  claims.ranks = run.pipeline.ranks;
  claims.interleave = run.pipeline.interleave;
  claims.training = run.pipeline.decode.training;
  claims.layout = run.pipeline.decode.layout;
  claims.seed = run.pipeline.decode.seed;
  claims.threads = run.pipeline.threads;
  claims.prefetch = run.pipeline.prefetch;
  claims.step_seconds = run.step_seconds;
  claims.cold = run.cold;
  return claims;
}

inline void run_once(Workload& workload) {
  workload.reset();
  workload.run(workload.stream());
}

/// Audits of every kind pass, between timed runs.
inline void expect_audits_pass(Workload& workload) {
  for (const Audit kind : {Audit::new_inputs, Audit::poisoned_outputs, Audit::new_inputs}) {
    workload.begin_audit(kind);
    run_once(workload);
    const Verification audit = workload.end_audit();
    EXPECT_TRUE(audit.passed) << audit.reason;
    EXPECT_TRUE(audit.exact);
    run_once(workload);
  }
}

}  // namespace assay
