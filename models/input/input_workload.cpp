#include "models/input/input_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
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
#include "models/input/reading.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t defined_images = 4;  // of a check that are also compared with definitions

/// The part of an image that a consumer keeps, and its expected value.
struct Image {
  std::int64_t sample = 0, label = 0;
  std::uint32_t check = 0;  ///< CRC-32C of its numbers
};
struct Seen {
  InputAudit::Place place;  ///< according to its batch
  Image image;
};

std::uint32_t compute_check(const float* image, std::int64_t elements) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(image),
                 static_cast<std::size_t>(elements) * sizeof(float)});
}

class InputWorkload final : public Workload {
 public:
  InputWorkload(std::shared_ptr<const SampleSet> set, const InputRun& run,
                const InputClaims& claims, Communicator& ranks,
                std::map<std::string, double> amounts, double create_seconds)
      : set_(std::move(set)),
        run_(run),
        ranks_(ranks),
        amounts_(std::move(amounts)),
        audit_(set_, claims, ranks),
        decode_(audit_.decode()) {
    const auto start = Clock::now();
    expect_room();
    pipeline_ = std::make_unique<InputPipeline>(*set_, run.pipeline);
    seen_.reserve(static_cast<std::size_t>(run.batches * run.pipeline.batch));
    taken_.reserve(seen_.capacity());
    if (run.cold) make_cold(set_->files());
    seconds_ = {{"create", create_seconds}, {"allocate", seconds_since(start)}};
  }

  Stream& stream() override { return device_.stream(); }
  Device* device() override { return &device_; }
  bool batchable() const override { return false; }  // counters are read after every run
  void reset() override {
    count();
    if (run_.cold) drop_from_cache(set_->files());
  }

  void run(Stream&) override {
    if (!checked_) reading_.begin({});  // start() resets the counters
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
      if (taken_.size() < taken_.capacity())  // one run between two counts
        taken_.insert(taken_.end(), batch.samples.begin(), batch.samples.end());
      last_ = &batch;
      if (run_.step_seconds > 0)
        std::this_thread::sleep_until(std::max(taken, Clock::now()) +
                                      std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(run_.step_seconds)));
    }
    last_seconds_ = seconds_since(start);
    if (checked_) return;
    const PipelineCounters counters = pipeline_->counters();
    reading_.end(counters, last_seconds_);
    waited_ += counters.stall_s;
    passed_ += last_seconds_;
  }

  std::map<std::string, double> take_done() override {
    count();
    double images = std::exchange(images_, 0);
    RankCalls(ranks_).sum(std::span(&images, 1));
    return {{"images_per_s", images}};
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
    waited_ = passed_ = 0;
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
    Verification last = judge(", those of the last timed run");
    last.fail(fault_of_stall());
    const Verification again = verified_runs();
    return last.passed ? again : last;
  }

  Execution execution() const override {
    Execution ran;
    ran.implementation = "libjpeg-turbo, libpng";
    ran.storage = ran.compute = ran.accumulate = "fp32";
    ran.layout = run_.pipeline.decode.layout == ImageLayout::nhwc ? "nhwc" : "nchw";
    ran.workspace_bytes = static_cast<std::size_t>(memory());
    ran.numbers["working_threads"] = pipeline_->threads();
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
    const std::int64_t elements = decode_.elements(), held = std::ssize(batch.images) / elements;
    for (std::int64_t i = 0; i < std::ssize(batch.samples); ++i) {
      const auto at = static_cast<std::size_t>(i);
      seen_.push_back(
          {{batch.epoch, audit_.position(batch.step, i)},
           {batch.samples[at], batch.labels[at],
            i < held ? compute_check(batch.images.data() + i * elements, elements) : 0}});
    }
  }

  /// Counts the images of the last run that are at their places in the timed epoch. A repeated
  /// image counts once.
  void count() {
    const std::size_t most = std::min(taken_.size(), timed_samples_.size());
    for (std::size_t i = 0; i < most; ++i) images_ += taken_[i] == timed_samples_[i];
    taken_.clear();
  }

  void begin_check() {
    seen_.clear();
    checked_ = true;
  }

  /// Judges the images of a checked run.
  Verification end_check() {
    checked_ = false;
    Verification checked = judge("");
    std::vector<std::int64_t> samples;
    for (const Seen& seen : seen_) samples.push_back(seen.image.sample);
    const bool replaced = !set_->faults().empty() || !pipeline_->state().bad_samples.empty();
    std::string fault = audit_.fault_of_samples(epoch_, samples, replaced);
    if (fault.empty()) fault = fault_of_pipeline();
    for (std::int64_t i = 0; i < audit_.images() && fault.empty(); ++i)
      // A batch was skipped or repeated.
      if (i >= std::ssize(seen_) ||
          seen_[static_cast<std::size_t>(i)].place != audit_.place(epoch_, i))
        fault = fmt::format("image {} of the run is not the next of its epoch", i);
    checked.fail(fault);
    if (epoch_ == 0) timed_samples_ = std::move(samples);
    epoch_ = 0;
    return checked;
  }

  /// Why the pipeline or the last run contradicts the case, or empty.
  std::string fault_of_pipeline() const {
    const InputClaims& claims = audit_.claims();
    if (pipeline_->threads() != claims.threads || pipeline_->prefetch() != claims.prefetch)
      return fmt::format("the pipeline has {} threads and prepares {} batches, not {} and {}",
                         pipeline_->threads(), pipeline_->prefetch(), claims.threads,
                         claims.prefetch);
    const double least = static_cast<double>(audit_.images() / claims.batch) * claims.step_seconds;
    if (last_seconds_ < least)
      return fmt::format("a run took {:.3g} s, of which the consumer had to wait {:.3g} s",
                         last_seconds_, least);
    return "";
  }

  /// Why stall_percent is not the part of the time that the consumer has waited for batches, or
  /// empty. Collective.
  std::string fault_of_stall() {
    double own = passed_ > 0 ? 100 * waited_ / passed_ : 0;
    ranks_.allreduce_max(std::span(&own, 1));
    const auto stall = metrics_.find("stall_percent");
    if (stall == metrics_.end() || std::abs(stall->second.value - own) <= 1e-9 * own) return "";
    return fmt::format(
        "stall_percent is {:.3g}, but the consumer has waited for {:.3g} % of the time",
        stall->second.value, own);
  }

  /// Verifies another epoch and the timed one. Always both, because ranks may have different
  /// results for the first, and would wait for each other.
  Verification verified_runs() {
    const Verification other = verify_run(next_epoch_++);
    const Verification timed = verify_run(0);
    return other.passed ? timed : other;
  }

  /// Throws on all ranks, so that no rank waits for one whose files are bad.
  Verification verify_run(std::uint64_t epoch) {
    epoch_ = epoch;
    throw_on_all(ranks_, [&] {
      pipeline_->start({}, 0);  // its threads rest
      pipeline_->poison();
    });
    // Ranks share the page cache: none drops files before all are idle, and none reads before all
    // have checked.
    throw_on_all(ranks_, [&] {
      reset();
      if (audit_.claims().cold) expect_cold(set_->files());
    });
    throw_on_all(ranks_, [&] {
      begin_check();
      run(stream());
    });
    return end_check();
  }

  /// Compares the images of the run with their serial decodes.
  Verification judge(const std::string& which) {
    Verification checked;
    const auto count = std::ssize(seen_);
    const std::int64_t elements = decode_.elements();
    checked.reference = fmt::format("serial decode of {} images, bit by bit", count);
    checked.outputs = checked.checked = count * elements;
    checked.exact = true;
    std::vector<std::string> wrong(static_cast<std::size_t>(count));
    std::vector<Image> expected(wrong.size());
    const std::int64_t every = std::max<std::int64_t>(1, count / defined_images);
    for_each_parallel(count, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      expected[at] = compute_expected(seen_[at].place, i % every == 0, wrong[at]);
      if (wrong[at].empty()) wrong[at] = find_fault(seen_[at].image, expected[at]);
    });
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      if (seen_[i].place.epoch == 0) timed_[seen_[i].place.position] = expected[i];
      if (wrong[i].empty()) continue;
      if (checked.reason.empty())
        checked.reason = fmt::format("image {}{}: {}", i, which, wrong[i]);
      checked.wrong_elements += elements;
    }
    checked.passed = checked.reason.empty();
    return checked;
  }

  /// `wrong`: why the serial decode contradicts the definition; judged only if `defined`.
  Image compute_expected(const InputAudit::Place& place, bool defined, std::string& wrong) const {
    if (const auto known = timed_.find(place.position); place.epoch == 0 && known != timed_.end())
      return known->second;
    std::vector<float> image(static_cast<std::size_t>(decode_.elements()));
    Sample sample;
    std::int64_t index = audit_.sample(place);
    if (index < 0) return {-1, -1, 0};
    for (std::int64_t tried = 0; tried < set_->size(); ++tried) {
      try {
        set_->read(index, sample);
        reference_decode(sample.encoded, decode_, place.epoch, index, image.data());
        if (defined) wrong = audit_.fault_of_image(sample.encoded, place.epoch, index, image);
        return {index, sample.label, compute_check(image.data(), std::ssize(image))};
      } catch (const BadSample&) {
        index = (index + 1) % set_->size();  // the next good one replaces it
      }
    }
    return {-1, -1, 0};
  }

  /// Why an image is wrong, or empty.
  std::string find_fault(const Image& image, const Image& expected) const {
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
  InputAudit audit_;
  DecodeSettings decode_;  ///< the case's
  std::unique_ptr<InputPipeline> pipeline_;
  std::uint64_t epoch_ = 0;          ///< at which a run starts; 0 is timed
  std::uint64_t next_epoch_ = 1000;  ///< no timed run comes so far
  bool checked_ = false;             ///< the run keeps what it sees
  std::vector<Seen> seen_;
  std::map<std::int64_t, Image> timed_;      ///< images of the timed epoch, by position
  const Batch* last_ = nullptr;              ///< of the last run
  std::vector<std::int64_t> taken_;          ///< the samples of the last run
  std::vector<std::int64_t> timed_samples_;  ///< that a run of the timed epoch has
  double images_ = 0;                        ///< counted since take_done()
  double last_seconds_ = 0;                  ///< of the last run
  double waited_ = 0, passed_ = 0;           ///< seconds for batches, and of all timed runs
  Reading reading_;
  std::map<std::string, Metric> metrics_;
};

}  // namespace

std::unique_ptr<Workload> make_input_workload(std::shared_ptr<const SampleSet> set,
                                              const InputRun& run, const InputClaims& claims,
                                              Communicator& ranks,
                                              std::map<std::string, double> amounts,
                                              double create_seconds) {
  return std::make_unique<InputWorkload>(std::move(set), run, claims, ranks, std::move(amounts),
                                         create_seconds);
}

}  // namespace assay
