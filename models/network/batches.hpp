#pragma once
// The sources of the batches of a training: a resident batch, generated images, files.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "models/network/input_shape.hpp"
#include "models/network/learnable_samples.hpp"

namespace assay {

/// Batches of one rank in host memory: samples [batch, height, width, channels] in fp32 (nhwc), and
/// for each its labels (one, one of each pixel, or none) and its index in the set. Every batch is a
/// function of the source's settings, the epoch and the step. If the last batch of an evaluation is
/// not full, its missing images are 0, with labels and index -1.
class Batches {
 public:
  virtual ~Batches() = default;
  Batches() = default;
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The next batch; the first is step 0 of epoch 0. The first step of the next epoch follows the
  /// last step of an epoch. The batch is valid until the next call of next() or start(). InputError
  /// as by InputPipeline.
  virtual const Batch& next() = 0;
  /// InputPipeline::pause(); nothing if batches are made in next().
  virtual void pause() {}
  /// The state from which start() continues with the same batch as next() would.
  virtual PipelineState state() const = 0;
  /// Continues from a state. From then on, at most `batches` batches are prepared in advance.
  virtual void start(const PipelineState& state,
                     std::int64_t batches = InputPipeline::unlimited) = 0;

  virtual std::int64_t steps() const = 0;    ///< batches of this rank in an epoch
  virtual std::int64_t samples() const = 0;  ///< images of the whole set
  virtual std::int64_t classes() const = 0;
  virtual PipelineCounters counters() const = 0;     ///< since the last start()
  virtual std::int64_t faults() const { return 0; }  ///< of the set as a whole
  /// Faults, and the bad samples in state().
  virtual std::int64_t bad_samples() const { return 0; }
  virtual std::vector<std::string> bad_sample_messages() const { return {}; }
  /// The name of the set in ids of rows.
  virtual std::string canonical() const = 0;
};

/// Returns batches.next(). With several ranks, an InputError on one rank ends the job with exit
/// code 2, because the other ranks would wait for this rank in their next collective call.
const Batch& take_next(Batches& batches, Communicator& ranks);

/// The share of a rank in each epoch.
struct BatchShare {
  std::int64_t batch = 32;  ///< images of a batch of one rank
  int rank = 0, ranks = 1;
  bool training = true;    ///< shuffled, only full batches; else each sample once, in order
  std::uint64_t seed = 1;  ///< of the shuffling
};

struct ResidentSettings {
  std::int64_t classes = 1000;
  InputShape input;
  std::uint64_t seed = 1;
  std::int64_t samples = 1281167;  ///< samples of an epoch; default: ImageNet's
  Labels labels = Labels::per_sample;
};

/// The same batch in every step. Pixel i in the logical order [n, c, h, w] is element i of
/// Values(mantissa, seed, "images", fp32, 0) of the rank, and labels[n, i] = (7 n + 3 + rank + i)
/// mod classes. An epoch has at least one step. InputError for numbers below 1.
std::unique_ptr<Batches> make_resident_batch(const ResidentSettings& settings,
                                             const BatchShare& share);

/// Batches of the first `count` samples for training, or the first `count` for validation.
/// EpochOrder gives the order of an epoch, and RankShare divides it among ranks. OpenMP's threads
/// compute a batch in the call of next(). InputError for numbers below 1, and in training if a
/// batch of all ranks is larger than the set.
std::unique_ptr<Batches> make_learnable_batches(std::shared_ptr<const LearnableSamples> samples,
                                                std::int64_t count, const BatchShare& share);

/// Batches of images in files, by an InputPipeline, whose threads prepare batches in advance.
/// std::logic_error for layouts other than nhwc. InputError as by InputPipeline.
std::unique_ptr<Batches> make_pipeline_batches(std::shared_ptr<const SampleSet> set,
                                               const PipelineSettings& settings);

}  // namespace assay
