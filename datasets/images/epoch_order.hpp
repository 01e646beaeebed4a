#pragma once
// In which order the samples of a set are read, and which rank reads which.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace assay {

/// The order of an epoch is a function of (seed, epoch): shards in random order, and the samples of
/// `interleave` shards at a time mixed at random. So a reader has so many files in use at a time;
/// with 0 all samples are mixed. Without `shuffle` it is the order of the set.
class EpochOrder {
 public:
  /// `shards`: SampleSet::shards().
  EpochOrder(std::int64_t samples, std::vector<std::int64_t> shards, std::uint64_t seed,
             bool shuffle, int interleave);

  using Samples = std::shared_ptr<const std::vector<std::int64_t>>;
  /// All samples in the order of the epoch. The last two that were asked for are kept; any thread.
  Samples of(std::uint64_t epoch) const;

 private:
  std::vector<std::int64_t> make(std::uint64_t epoch) const;

  std::int64_t samples_;
  std::vector<std::int64_t> shards_;
  std::uint64_t seed_;
  bool shuffle_;
  std::size_t interleave_;
  mutable std::mutex mutex_;
  struct Kept {
    std::uint64_t epoch = 0;
    Samples samples;
  };
  mutable std::vector<Kept> kept_;  ///< under the mutex
};

/// The batches of an epoch are numbered; rank r of R has the batches r, r + R, r + 2 R, … Batch k
/// has positions [k batch, (k + 1) batch) of the order. So R ranks read in one step what one rank
/// reads in R. All ranks make as many steps.
struct RankShare {
  std::int64_t samples = 0, batch = 1;
  int rank = 0, ranks = 1;
  bool whole_batches = true;  ///< leave out samples at the end that do not fill a step of all ranks

  std::int64_t steps() const;
  /// Position in the order of element `i` of this rank's batch of `step`; -1: none (the end of an
  /// epoch whose last batches are not whole).
  std::int64_t position(std::int64_t step, std::int64_t i) const;
};

}  // namespace assay
