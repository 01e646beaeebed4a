#include "models/network/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "core/api/random.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/epoch_order.hpp"

namespace assay {
namespace {

void check_share(const BatchShare& share, std::int64_t samples) {
  if (share.batch < 1 || share.ranks < 1 || share.rank < 0 || share.rank >= share.ranks ||
      samples < 1)
    throw InputError(fmt::format(
        "a batch of {} of {} samples for rank {} of {} cannot be made (numbers are at least 1). "
        "Choose others.",
        share.batch, samples, share.rank, share.ranks));
}

/// The common part of sources that make their batches when asked: one batch in memory, and their
/// position.
class MadeBatches : public Batches {
 public:
  MadeBatches(const BatchShare& share, std::int64_t elements, std::int64_t labels)
      : share_(share),
        elements_(elements),
        labels_of_sample_(labels),
        images_(static_cast<std::size_t>(share.batch * elements)),
        labels_(static_cast<std::size_t>(share.batch * labels)),
        samples_(static_cast<std::size_t>(share.batch)) {
    batch_.images = images_;
    batch_.labels = labels_;
    batch_.samples = samples_;
  }

  const Batch& next() final {
    const auto start = std::chrono::steady_clock::now();
    if (counters_.batches >= limit_) throw std::logic_error("the batches were started for fewer");
    batch_.epoch = epoch_;
    batch_.step = step_;
    make();
    batch_.count = std::ranges::count_if(samples_, [](std::int64_t sample) { return sample >= 0; });
    if (++step_ == steps()) {
      step_ = 0;
      ++epoch_;
    }
    ++counters_.batches;
    counters_.images += batch_.count;
    counters_.stall_s += seconds_since(start);
    return batch_;
  }
  PipelineState state() const final { return {epoch_, step_, {}}; }
  void start(const PipelineState& state, std::int64_t batches) final {
    epoch_ = state.epoch + static_cast<std::uint64_t>(state.step / steps());
    step_ = state.step % steps();
    limit_ = batches;
    counters_ = {};
  }
  PipelineCounters counters() const final { return counters_; }

 protected:
  /// Makes the images, labels and samples of the batch (batch_.epoch, batch_.step).
  virtual void make() = 0;

  const BatchShare share_;
  const std::int64_t elements_, labels_of_sample_;
  std::vector<float> images_;
  std::vector<std::int64_t> labels_, samples_;
  Batch batch_;

 private:
  std::uint64_t epoch_ = 0;
  std::int64_t step_ = 0, limit_ = InputPipeline::unlimited;
  PipelineCounters counters_;
};

class ResidentBatch final : public MadeBatches {
 public:
  ResidentBatch(const ResidentSettings& settings, const BatchShare& share)
      : MadeBatches(share, settings.input.elements(),
                    labels_of_sample(settings.labels, settings.input)),
        settings_(settings) {
    const Values values = Values(Values::Kind::mantissa, settings.seed, "images", DataType::fp32, 0)
                              .of_rank(share.rank);
    const std::int64_t channels = settings.input.channels, plane = settings.input.pixels();
    for_each_parallel(share.batch, [&](std::int64_t n) {
      std::vector<double> image(static_cast<std::size_t>(elements_));
      values.fill(n * elements_, image);
      for (std::int64_t i = 0; i < elements_; ++i)
        images_[static_cast<std::size_t>(n * elements_ + i % plane * channels + i / plane)] =
            static_cast<float>(image[static_cast<std::size_t>(i)]);
    });
    for (std::int64_t n = 0; n < share.batch; ++n)
      samples_[static_cast<std::size_t>(n)] = share.rank * share.batch + n;
    for (std::int64_t at = 0; at < std::ssize(labels_); ++at)
      labels_[static_cast<std::size_t>(at)] =
          (7 * (at / labels_of_sample_) + 3 + share.rank + at % labels_of_sample_) %
          settings.classes;
  }
  std::int64_t steps() const override {
    return std::max<std::int64_t>(1, settings_.samples / share_.batch / share_.ranks);
  }
  std::int64_t samples() const override { return settings_.samples; }
  std::int64_t classes() const override { return settings_.classes; }
  std::string canonical() const override {
    const InputShape& shape = settings_.input;
    return fmt::format("synthetic:c{}{}seed{}", settings_.classes,
                       shape.is_photograph()
                           ? fmt::format("s{}", shape.height)
                           : fmt::format("i{}h{}w{}", shape.channels, shape.height, shape.width),
                       settings_.seed);
  }

 private:
  void make() override {}
  const ResidentSettings settings_;
};

class LearnableBatches final : public MadeBatches {
 public:
  LearnableBatches(std::shared_ptr<const LearnableSamples> samples, std::int64_t count,
                   const BatchShare& share)
      : MadeBatches(share, samples->elements(), samples->labels()),
        source_(std::move(samples)),
        part_{count, share.batch, share.rank, share.ranks, share.training},
        order_(count, {0}, share.seed, share.training, 0) {
    if (steps() == 0)
      throw InputError(
          fmt::format("a batch of {} on {} rank{} exceeds the set of {} samples ({}). Use a "
                      "smaller batch.",
                      share.batch, share.ranks, share.ranks == 1 ? "" : "s", count, canonical()));
  }
  std::int64_t steps() const override { return part_.steps(); }
  std::int64_t samples() const override { return part_.samples; }
  std::int64_t classes() const override { return source_->classes(); }
  std::string canonical() const override {
    return fmt::format("{}n{}", source_->canonical(), part_.samples);
  }

 private:
  void make() override {
    const EpochOrder::Samples order = order_.samples(batch_.epoch);
    const std::int64_t first = share_.training ? 0 : LearnableSamples::validation_first;
    for_each_parallel(share_.batch, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      float* const image = images_.data() + i * elements_;
      const std::int64_t position = part_.position(batch_.step, i);
      samples_[at] = position < 0 ? -1 : (*order)[static_cast<std::size_t>(position)];
      std::int64_t* const labels = labels_.data() + i * labels_of_sample_;
      if (position < 0) {
        std::fill_n(image, elements_, 0.0F);
        std::fill_n(labels, labels_of_sample_, -1);
        return;
      }
      source_->make(first + samples_[at], image);
      source_->make_labels(first + samples_[at], labels);
    });
  }

  const std::shared_ptr<const LearnableSamples> source_;
  const RankShare part_;
  const EpochOrder order_;
};

class PipelineBatches final : public Batches {
 public:
  PipelineBatches(std::shared_ptr<const SampleSet> set, const PipelineSettings& settings)
      : set_(std::move(set)), pipeline_(*set_, settings) {
    if (settings.decode.layout != ImageLayout::nhwc)
      throw std::logic_error("batches of training have the layout nhwc");
  }
  const Batch& next() override {
    if (!started_) start({}, InputPipeline::unlimited);
    return pipeline_.next();
  }
  void pause() override { pipeline_.pause(); }
  PipelineState state() const override { return pipeline_.state(); }
  void start(const PipelineState& state, std::int64_t batches) override {
    pipeline_.start(state, batches);
    started_ = true;
  }
  std::int64_t steps() const override { return pipeline_.steps(); }
  std::int64_t samples() const override { return set_->size(); }
  std::int64_t classes() const override { return set_->classes(); }
  PipelineCounters counters() const override { return pipeline_.counters(); }
  std::int64_t faults() const override { return std::ssize(set_->faults()); }
  std::int64_t bad_samples() const override { return pipeline_.bad_samples(); }
  std::vector<std::string> bad_sample_messages() const override {
    return pipeline_.bad_sample_messages();
  }
  std::string canonical() const override { return set_->canonical(); }

 private:
  const std::shared_ptr<const SampleSet> set_;
  InputPipeline pipeline_;
  bool started_ = false;
};

}  // namespace

const Batch& take_next(Batches& batches, Communicator& ranks) {
  try {
    return batches.next();
  } catch (const InputError& error) {
    if (ranks.size() > 1)
      ranks.abort(fmt::format("rank {} on {}: {}", ranks.rank(), ranks.host(), error.what()),
                  ExitCode::usage);
    throw;
  }
}

std::unique_ptr<Batches> make_resident_batch(const ResidentSettings& settings,
                                             const BatchShare& share) {
  const std::int64_t classes = settings.labels == Labels::none ? 1 : settings.classes;
  check_share(share, std::min({settings.samples, classes, settings.input.elements()}));
  return std::make_unique<ResidentBatch>(settings, share);
}

std::unique_ptr<Batches> make_learnable_batches(std::shared_ptr<const LearnableSamples> samples,
                                                std::int64_t count, const BatchShare& share) {
  check_share(share, count);
  return std::make_unique<LearnableBatches>(std::move(samples), count, share);
}

std::unique_ptr<Batches> make_pipeline_batches(std::shared_ptr<const SampleSet> set,
                                               const PipelineSettings& settings) {
  return std::make_unique<PipelineBatches>(std::move(set), settings);
}

}  // namespace assay
