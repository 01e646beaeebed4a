#include "models/input/input_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/epoch_order.hpp"
#include "models/input/reading.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// What a consumer keeps of an image, and what it should be.
struct Image {
  std::int64_t sample = 0, label = 0;
  std::uint32_t check = 0;  ///< CRC-32C of its numbers
};
struct Seen {
  std::uint64_t epoch = 0;
  std::int64_t position = 0;  ///< in the order of the epoch
  Image image;
};

std::uint32_t check_of(const float* image, std::int64_t elements) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(image),
                 static_cast<std::size_t>(elements) * sizeof(float)});
}

class InputWorkload final : public Workload {
 public:
  InputWorkload(std::shared_ptr<const SampleSet> set, const InputRun& run, Communicator& ranks,
                std::map<std::string, double> amounts, double create_seconds)
      : set_(std::move(set)),
        run_(run),
        ranks_(ranks),
        amounts_(std::move(amounts)),
        share_(share_of(*set_, run.pipeline)),
        order_(order_of(*set_, run.pipeline)) {
    const auto start = Clock::now();
    expect_room();
    pipeline_ = std::make_unique<InputPipeline>(*set_, run.pipeline);
    seen_.reserve(static_cast<std::size_t>(run.batches * run.pipeline.batch));
    if (run.cold) make_cold(set_->files());
    seconds_ = {{"create", create_seconds}, {"allocate", seconds_since(start)}};
  }

  Stream& stream() override { return device_.stream(); }
  Result<EnergyMeter*> energy_meter() override { return device_.energy_meter(); }
  bool batchable() const override { return false; }  // of every run the counters are read
  void reset() override {
    if (run_.cold) drop_from_cache(set_->files());
  }

  void run(Stream&) override {
    if (!checked_) reading_.begin({});  // start() sets the counters back
    const auto start = Clock::now();
    pipeline_->start({epoch_, 0, {}}, run_.batches);
    for (std::int64_t i = 0; i < run_.batches; ++i) {
      const auto taken = Clock::now();
      const Batch& batch = pipeline_->next();
      if (batch.count != run_.pipeline.batch)
        throw CaseError(
            fmt::format("a batch has {} of {} images (bad samples, which evaluation "
                        "leaves out). Use --view train, or repair the set.",
                        batch.count, run_.pipeline.batch));
      if (checked_) keep(batch);
      last_ = &batch;
      if (run_.step_seconds > 0)
        std::this_thread::sleep_until(std::max(taken, Clock::now()) +
                                      std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(run_.step_seconds)));
    }
    if (!checked_) reading_.end(pipeline_->counters(), seconds_since(start));
  }

  void begin_audit(Audit kind) override {
    if (kind == Audit::new_inputs)
      epoch_ = next_epoch_++;
    else
      pipeline_->poison();
    begin_check();
  }
  Verification end_audit() override { return end_check(); }

  Verification verify_before() override {
    const Verification checked = verified_runs();
    reading_ = {};  // of the timed phase
    return checked;
  }
  Verification verify_after() override {
    const BadSamples mine{set_->canonical(), std::ssize(set_->faults()),
                          pipeline_->state().bad_samples,
                          last_message(pipeline_->bad_sample_messages())};
    metrics_ =
        reading_.metrics(ranks_, number_within(run_.pipeline.max_bad_samples, {mine}, ranks_));
    seen_.clear();
    if (reading_.any()) keep(*last_);
    const Verification last = judge(", those of the last timed run");
    const Verification again = verified_runs();
    return last.passed ? again : last;
  }

  Executed executed() const override {
    Executed ran;
    ran.implementation = "libjpeg-turbo, libpng";
    ran.storage = ran.compute = ran.accumulate = "fp32";
    ran.layout = run_.pipeline.decode.layout == ImageLayout::nhwc ? "nhwc" : "nchw";
    ran.workspace_bytes = static_cast<std::size_t>(memory());
    ran.numbers["working_threads"] = run_.pipeline.threads;
    return ran;
  }
  std::map<std::string, double> work() const override { return amounts_; }
  std::map<std::string, Metric> metrics() const override { return metrics_; }
  std::map<std::string, double> setup() const override { return seconds_; }

 private:
  double memory() const {
    return static_cast<double>(run_.pipeline.prefetch + 1) *
           static_cast<double>(run_.pipeline.batch) *
           static_cast<double>(run_.pipeline.decode.elements()) * sizeof(float);
  }

  void expect_room() const {
    const auto available = static_cast<double>(device_.memory_available());
    if (memory() > available)
      throw CaseError(
          fmt::format("the batches need {:.3g} GiB of memory, but {:.3g} GiB are "
                      "available. Use a smaller batch or depth of prefetching.",
                      memory() / (1 << 30), available / (1 << 30)));
  }

  void keep(const Batch& batch) {
    const std::int64_t elements = run_.pipeline.decode.elements();
    for (std::int64_t i = 0; i < run_.pipeline.batch; ++i) {
      const auto at = static_cast<std::size_t>(i);
      seen_.push_back({batch.epoch,
                       share_.position(batch.step, i),
                       {batch.samples[at], batch.labels[at],
                        check_of(batch.images.data() + i * elements, elements)}});
    }
  }

  void begin_check() {
    seen_.clear();
    checked_ = true;
  }

  /// Judges what a checked run has seen.
  Verification end_check() {
    checked_ = false;
    Verification checked = judge("");
    for (std::int64_t i = 0; i < run_.batches * run_.pipeline.batch && checked.passed; ++i) {
      const std::int64_t step = i / run_.pipeline.batch;
      if (i < std::ssize(seen_)) {
        const Seen& seen = seen_[static_cast<std::size_t>(i)];
        if (seen.epoch == epoch_ + static_cast<std::uint64_t>(step / share_.steps()) &&
            seen.position == share_.position(step % share_.steps(), i % run_.pipeline.batch))
          continue;
      }
      // A batch was left out, or came twice.
      checked.passed = false;
      checked.reason = fmt::format("image {} of the run is not the next of its epoch", i);
    }
    epoch_ = 0;
    return checked;
  }

  /// Of another epoch and of the timed one. Both, whatever the first has found here: the other
  /// ranks may have found another thing, and would wait for this one.
  Verification verified_runs() {
    const Verification other = verified_run(next_epoch_++);
    const Verification timed = verified_run(0);
    return other.passed ? timed : other;
  }

  /// All ranks: one whose files are bad must not leave the others waiting.
  Verification verified_run(std::uint64_t epoch) {
    epoch_ = epoch;
    throw_on_all(ranks_, [&] {
      pipeline_->start({}, 0);  // its threads rest
      pipeline_->poison();
      reset();
      begin_check();
      run(stream());
    });
    return end_check();
  }

  /// Compares what was seen with its serial decode.
  Verification judge(const std::string& which) {
    Verification checked;
    const auto count = std::ssize(seen_);
    const std::int64_t elements = run_.pipeline.decode.elements();
    checked.reference = fmt::format("serial decode of {} images, bit by bit", count);
    checked.outputs = checked.checked = count * elements;
    checked.exact = true;
    std::vector<std::string> wrong(static_cast<std::size_t>(count));
    std::vector<Image> expected(wrong.size());
    for_each_parallel(count, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      expected[at] = expected_of(seen_[at]);
      wrong[at] = fault_of(seen_[at].image, expected[at]);
    });
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      if (seen_[i].epoch == 0) timed_[seen_[i].position] = expected[i];
      if (wrong[i].empty()) continue;
      if (checked.reason.empty())
        checked.reason = fmt::format("image {}{}: {}", i, which, wrong[i]);
      checked.wrong_elements += elements;
    }
    checked.passed = checked.reason.empty();
    return checked;
  }

  Image expected_of(const Seen& seen) const {
    if (const auto known = timed_.find(seen.position); seen.epoch == 0 && known != timed_.end())
      return known->second;
    if (seen.position < 0) return {-1, -1, 0};
    std::vector<float> image(static_cast<std::size_t>(run_.pipeline.decode.elements()));
    Sample sample;
    std::int64_t index = (*order_.of(seen.epoch))[static_cast<std::size_t>(seen.position)];
    for (std::int64_t tried = 0; tried < set_->size(); ++tried) {
      try {
        set_->read(index, sample);
        reference_decode(sample.encoded, run_.pipeline.decode, seen.epoch, index, image.data());
        return {index, sample.label, check_of(image.data(), std::ssize(image))};
      } catch (const BadSample&) {
        index = (index + 1) % set_->size();  // a good one takes its place
      }
    }
    return {-1, -1, 0};
  }

  /// Why an image is wrong, or empty.
  std::string fault_of(const Image& image, const Image& expected) const {
    if (image.sample != expected.sample || image.label != expected.label)
      return fmt::format("sample {} with label {} (expected {} with {})", image.sample, image.label,
                         expected.sample, expected.label);
    if (image.check != expected.check)
      return fmt::format("{} differs from its serial decode", set_->where(image.sample));
    return "";
  }

  HostDevice device_;
  std::shared_ptr<const SampleSet> set_;
  InputRun run_;
  Communicator& ranks_;
  std::map<std::string, double> amounts_, seconds_;
  RankShare share_;
  EpochOrder order_;  ///< of its own, not the pipeline's
  std::unique_ptr<InputPipeline> pipeline_;
  std::uint64_t epoch_ = 0;          ///< at which a run starts; 0 is timed
  std::uint64_t next_epoch_ = 1000;  ///< no timed run comes so far
  bool checked_ = false;             ///< the run keeps what it sees
  std::vector<Seen> seen_;
  std::map<std::int64_t, Image> timed_;  ///< what the timed epoch has, by position
  const Batch* last_ = nullptr;          ///< of the last run
  Reading reading_;
  std::map<std::string, Metric> metrics_;
};

}  // namespace

std::unique_ptr<Workload> input_workload(std::shared_ptr<const SampleSet> set, const InputRun& run,
                                         Communicator& ranks, std::map<std::string, double> amounts,
                                         double create_seconds) {
  return std::make_unique<InputWorkload>(std::move(set), run, ranks, std::move(amounts),
                                         create_seconds);
}

}  // namespace assay
