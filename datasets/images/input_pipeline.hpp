#pragma once
// Batches of decoded images, which threads prepare in advance.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/images/epoch_order.hpp"
#include "datasets/images/sample_decoder.hpp"
#include "datasets/images/sample_set.hpp"

namespace assay {

struct PipelineSettings {
  DecodeSettings decode;
  std::int64_t batch = 32;  ///< images of a batch of one rank
  int threads = 1;          ///< threads that read and decode; at least 1
  int prefetch = 2;         ///< batches prepared in advance; 0: none
  bool shuffle = true;
  int interleave = 0;  ///< shards that are mixed (EpochOrder); 0: all
  int rank = 0, ranks = 1;
  std::int64_t max_bad_samples = 0;  ///< of this rank alone; one more is an error
};

/// The samples of an epoch that a pipeline with these settings reads, in their order.
RankShare make_share(const SampleSet& set, const PipelineSettings& settings);
EpochOrder make_order(const SampleSet& set, const PipelineSettings& settings);

/// The position at which a pipeline continues; checkpoints contain it.
struct PipelineState {
  std::uint64_t epoch = 0;
  std::int64_t step = 0;                  ///< of this rank's next batch
  std::vector<std::int64_t> bad_samples;  ///< known ones, ascending
  bool operator==(const PipelineState&) const = default;
};

/// A batch in the pipeline's memory.
struct Batch {
  std::uint64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t count = 0;         ///< images in it; the others are 0, with label -1
  std::span<const float> images;  ///< batch x DecodeSettings::elements()
  std::span<const std::int64_t> labels;
  std::span<const std::int64_t> samples;  ///< index of each in the set; -1: none
};

/// Counters of this rank since the last start().
struct PipelineCounters {
  std::int64_t batches = 0, images = 0;  ///< handed out
  std::int64_t decoded = 0;              ///< images, handed out or not
  std::int64_t bytes = 0;                ///< encoded, of all samples that were read
  double stall_s = 0;                    ///< for which next() waited
  double read_s = 0, decode_s = 0;       ///< of all threads together
};

/// InputError if an epoch of training has no step (batch times ranks exceeds the set), or if the
/// set has more faults than max_bad_samples.
void expect_usable(const SampleSet& set, const PipelineSettings& settings);

/// Every batch is a function of the set, the settings and (epoch, step), on any number of threads
/// and for any depth of prefetching.
///
/// Training (decode.training): an epoch consists of whole batches of all ranks. A bad sample is
/// replaced by the next good one of the set. Evaluation: each sample occurs once; the last batches,
/// and those with bad samples, may have fewer images.
class InputPipeline {
 public:
  /// `set` must outlive the pipeline. InputError as by expect_usable().
  InputPipeline(const SampleSet& set, const PipelineSettings& settings);
  ~InputPipeline();  ///< waits for at most one sample of each thread
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  static constexpr std::int64_t unlimited = INT64_MAX;

  std::int64_t steps() const;  ///< batches of this rank in an epoch
  int threads() const;         ///< that were started
  int prefetch() const;        ///< batches that fit its memory for preparing in advance
  /// Starts preparing at most `batches` batches, beginning at `state`, over as many epochs as they
  /// need. Drops batches that were already prepared.
  void start(const PipelineState& state, std::int64_t batches = unlimited);
  /// The next batch; valid until the next call of next() or start(). Throws InputError if a file
  /// cannot be read or has changed, or if there are more bad samples than max_bad_samples (the
  /// message has file and offset of the last one). After an InputError every call throws it again.
  /// Throws std::logic_error if all batches of start() have been taken.
  const Batch& next();
  /// Threads begin no further samples until the next call of next() or start(). A caller pauses the
  /// pipeline during work that does not count as time of its steps (checks). Otherwise the threads
  /// would prepare batches in that time, and later steps would wait less than they should.
  void pause();
  /// The state from which start() continues with the batch that next() would return.
  PipelineState state() const;
  PipelineCounters counters() const;
  /// Number of faults of the set and of distinct samples that could not be used since the pipeline
  /// was made, and messages about the first of them.
  std::int64_t bad_samples() const;
  std::vector<std::string> bad_sample_messages() const;
  /// Overwrites the memory of all batches with NaN and invalid labels, for checks. Call it only
  /// before the first start(), or after all batches of a limited start() have been taken.
  void poison();

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace assay
