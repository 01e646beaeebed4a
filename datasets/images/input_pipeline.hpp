#pragma once
// Batches of decoded images, made ahead by threads.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/images/sample_decoder.hpp"
#include "datasets/images/sample_set.hpp"

namespace assay {

struct PipelineSettings {
  DecodeSettings decode;
  std::int64_t batch = 32;  ///< images of a batch of one rank
  int threads = 1;          ///< that read and decode; at least 1
  int prefetch = 2;  ///< batches made ahead of the one that is wanted; 0: none before it is wanted
  bool shuffle = true;
  int interleave = 0;  ///< shards whose samples are mixed at a time; 0: all
  int rank = 0, ranks = 1;
  std::int64_t max_bad_samples = 0;  ///< of one rank; one more ends the pipeline
};

/// Where a pipeline goes on: what a checkpoint keeps.
struct PipelineState {
  std::uint64_t epoch = 0;
  std::int64_t step = 0;                  ///< the batch of this rank that comes next
  std::vector<std::int64_t> bad_samples;  ///< known ones, ascending
  bool operator==(const PipelineState&) const = default;
};

/// A batch in the pipeline's memory.
struct Batch {
  std::uint64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t count = 0;         ///< images that are there; the others are 0, with label -1
  std::span<const float> images;  ///< batch x DecodeSettings::elements()
  std::span<const std::int64_t> labels;
  std::span<const std::int64_t> samples;  ///< index of each in the set; -1: none
};

/// Since the last start(), of this rank.
struct PipelineCounters {
  std::int64_t batches = 0, images = 0;  ///< handed out
  std::int64_t bytes = 0;                ///< encoded bytes of all samples that were read
  double stall_s = 0;                    ///< that next() waited
  double read_s = 0, decode_s = 0;       ///< of all threads together
};

/// Every batch is a function of the set, the settings and (epoch, step), on any number of threads
/// and for any depth of prefetching.
///
/// Training (decode.training): an epoch has whole batches of all ranks. A bad sample is replaced by
/// the next good one of the set. Evaluation: each sample comes once; last batches may lack images,
/// and so do those with bad samples.
class InputPipeline {
 public:
  /// `set` must live as long. InputError: an epoch of training has no step (batch times ranks
  /// exceeds the set); more faults of the set than max_bad_samples.
  InputPipeline(const SampleSet& set, const PipelineSettings& settings);
  ~InputPipeline();  ///< waits for at most one sample of each thread
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  static constexpr std::int64_t unlimited = INT64_MAX;

  std::int64_t steps() const;  ///< batches of this rank in an epoch
  /// Begins to make batches from `from` on, over as many epochs as they need, and no more than
  /// `batches`. What was made before is dropped.
  void start(const PipelineState& from, std::int64_t batches = unlimited);
  /// The next batch; valid until the next call of next() or start(). InputError: a file cannot be
  /// read or has changed; more bad samples than max_bad_samples, with file and offset of the last.
  /// After an error every call repeats it. std::logic_error: more calls than start() said.
  const Batch& next();
  /// From where start() continues with the batch that next() would give.
  PipelineState state() const;
  PipelineCounters counters() const;
  /// Faults of the set and distinct samples that could not be used so far (not since start()), and
  /// what was wrong with the first of them.
  std::int64_t bad_samples() const;
  std::vector<std::string> bad_sample_messages() const;
  /// Overwrites the memory of all batches with NaN and labels that no sample has, for checks. Only
  /// after all batches of a limited start() were taken, or before any.
  void poison();

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace assay
