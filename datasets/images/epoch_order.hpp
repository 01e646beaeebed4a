#pragma once
// The order in which the samples of a set are read, and which rank reads which of them.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace assay {

/// The order of an epoch is a function of (seed, epoch): shards are in random order, and the
/// samples of each `interleave` shards are mixed at random, so a reader uses only that many files
/// at a time. 0 mixes all samples. Without `shuffle`, the order is that of the set.
class EpochOrder {
 public:
  /// `shards`: SampleSet::shards().
  EpochOrder(std::int64_t samples, std::vector<std::int64_t> shards, std::uint64_t seed,
             bool shuffle, int interleave);

  using Samples = std::shared_ptr<const std::vector<std::int64_t>>;
  /// All samples in the order of the epoch. Any thread may call it. The last two orders are kept.
  Samples samples(std::uint64_t epoch) const;

 private:
  std::vector<std::int64_t> make(std::uint64_t epoch) const;

  std::int64_t samples_;
  std::vector<std::int64_t> shards_;
  std::uint64_t seed_;
  bool shuffle_;
  std::size_t interleave_;
  mutable std::mutex mutex_;
  struct EpochSamples {
    std::uint64_t epoch = 0;
    Samples samples;
  };
  mutable std::vector<EpochSamples> kept_;  ///< guarded by mutex_
};

/// The batches of an epoch are numbered; rank r of R has the batches r, r + R, r + 2 R, … Batch k
/// has positions [k batch, (k + 1) batch) of the order. So R ranks read in one step what one rank
/// reads in R steps. All ranks have the same number of steps.
struct RankShare {
  std::int64_t samples = 0, batch = 1;
  int rank = 0, ranks = 1;
  bool whole_batches = true;  ///< leave out samples at the end that do not fill a step of all ranks

  std::int64_t steps() const;
  /// Position in the order of element `i` of this rank's batch of `step`; -1 if there is none (at
  /// the end of an epoch whose last batches are not whole).
  std::int64_t position(std::int64_t step, std::int64_t i) const;
};

}  // namespace assay
