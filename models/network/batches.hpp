#pragma once
// Where the batches of a training run come from: three sources, one interface.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "datasets/images/input_pipeline.hpp"
#include "models/network/learnable_images.hpp"

namespace assay {

/// Batches of one rank, in host memory: images [batch, size, size, 3] in fp32 (nhwc), a label for
/// each, its index in the set. Every batch is a function of the source's settings and of
/// (epoch, step). Images that an evaluation lacks at its end are 0, with label and index -1.
class Batches {
 public:
  virtual ~Batches() = default;
  Batches() = default;
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The next batch, at first that of epoch 0 and step 0; valid until the next call of next() or
  /// start(). After the last step of an epoch follows the first of the next. InputError: as
  /// InputPipeline's.
  virtual const Batch& next() = 0;
  /// From where start() continues with the batch that next() would give.
  virtual PipelineState state() const = 0;
  /// Continues from a state, for at most `batches` batches (what is made ahead stops there).
  virtual void start(const PipelineState& from,
                     std::int64_t batches = InputPipeline::unlimited) = 0;

  virtual std::int64_t steps() const = 0;    ///< batches of this rank in an epoch
  virtual std::int64_t samples() const = 0;  ///< of the whole set
  virtual std::int64_t classes() const = 0;
  virtual PipelineCounters counters() const = 0;  ///< since the last start()
  virtual std::int64_t bad_samples() const { return 0; }
  virtual std::vector<std::string> bad_sample_messages() const { return {}; }
  /// How the id of a row names the set.
  virtual std::string canonical() const = 0;
};

/// batches.next(). With several ranks InputError of one of them ends the job, since the others
/// would wait for it in the next collective call.
const Batch& next_of(Batches& batches, Communicator& ranks);

/// Which part of each epoch a rank has.
struct BatchShare {
  std::int64_t batch = 32;  ///< images of a batch of one rank
  int rank = 0, ranks = 1;
  bool training = true;    ///< shuffled, whole batches; else each sample once, in order
  std::uint64_t seed = 1;  ///< of the order
};

struct ResidentSettings {
  std::int64_t classes = 1000;
  int size = 224;
  std::uint64_t seed = 1;
  std::int64_t samples = 1281167;  ///< of an epoch: as many as ImageNet has
};

/// One batch, always the same: pixel i of the logical order [n, c, h, w] is element i of
/// Values(mantissa, seed, "images", fp32, 0) of the rank; labels[n] = (7 n + 3 + rank) mod classes.
/// An epoch has at least one step. InputError: a number below 1.
std::unique_ptr<Batches> resident_batch(const ResidentSettings& settings, const BatchShare& share);

/// `count` images: the first of training, or the first of validation. The order of an epoch is
/// EpochOrder's, and ranks share it as RankShare says. The threads of OpenMP make a batch when it
/// is asked for. InputError: a batch of all ranks exceeds the set (training); a number below 1.
std::unique_ptr<Batches> learnable_batches(std::shared_ptr<const LearnableImages> images,
                                           std::int64_t count, const BatchShare& share);

/// Files, by InputPipeline, whose threads make batches ahead. std::logic_error: a layout other than
/// nhwc. InputError: as InputPipeline's.
std::unique_ptr<Batches> pipeline_batches(std::shared_ptr<const SampleSet> set,
                                          const PipelineSettings& settings);

}  // namespace assay
