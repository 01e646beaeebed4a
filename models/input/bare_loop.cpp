#include "models/input/bare_loop.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "datasets/data_file.hpp"
#include "datasets/images/epoch_order.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// CRC-32C of the R, G and B of a box, whose pixels have `bytes` bytes.
std::uint32_t compute_check(const std::uint8_t* first, std::int64_t stride, int bytes,
                            const PixelBox& box) {
  Bytes pixels(std::size_t{3} * static_cast<std::size_t>(box.width) *
               static_cast<std::size_t>(box.height));
  std::uint8_t* to = pixels.data();
  for (int y = 0; y < box.height; ++y)
    for (int x = 0; x < box.width; ++x)
      for (int c = 0; c < 3; ++c) *to++ = first[y * stride + std::int64_t{bytes} * x + c];
  return crc32c(pixels);
}

std::uint32_t compute_check(const RgbView& view) {
  return compute_check(view.first, view.stride, 3, view.box);
}

/// An image of a run.
struct Task {
  std::int64_t index = 0;  ///< in the set
  std::uint64_t epoch = 0;
  const Bytes* encoded = nullptr;
  DecodedPart part;
  std::int64_t elements() const { return std::int64_t{3} * part.box.width * part.box.height; }
};

struct Tasks {
  std::map<std::int64_t, Bytes> encoded;  ///< by index
  std::vector<Task> all;
  std::vector<std::uint32_t> expected;  ///< empty until they are first needed
};

class BareLoopWorkload final : public Workload {
 public:
  BareLoopWorkload(std::shared_ptr<const SampleSet> set, const InputRun& run,
                   const InputClaims& claims, Communicator& ranks,
                   std::map<std::string, double> amounts, double create_seconds)
      : set_(std::move(set)),
        run_(run),
        ranks_(ranks),
        amounts_(std::move(amounts)),
        audit_(set_, claims, ranks),
        share_(make_share(*set_, run.pipeline)),
        order_(make_order(*set_, run.pipeline)),
        threads_(static_cast<std::size_t>(run.pipeline.threads)) {
    const auto start = Clock::now();
    expect_usable(*set_, run.pipeline);
    timed_ = loaded(0);
    renew_loops();
    seconds_ = {{"create", create_seconds}, {"fill", seconds_since(start)}};
  }

  Stream& stream() override { return device_.stream(); }
  Device* device() override { return &device_; }
  bool batchable() const override { return false; }
  void reset() override {}

  void run(Stream&) override {
    const Tasks& tasks = audited_ ? *audited_ : timed_;
    const auto count = std::ssize(tasks.all);
    for (Thread& thread : threads_) thread.last = -1;
#pragma omp parallel for schedule(dynamic) num_threads(run_.pipeline.threads)
    for (std::int64_t i = 0; i < count; ++i)
      decode(tasks.all[static_cast<std::size_t>(i)],
             threads_[static_cast<std::size_t>(omp_get_thread_num())], i);
  }

  std::map<std::string, double> take_done() override {
    double images = 0;
    for (Thread& thread : threads_) images += static_cast<double>(std::exchange(thread.decoded, 0));
    RankCalls(ranks_).sum(std::span(&images, 1));
    return {{"images_per_s", images}};
  }

  void begin_audit(Audit kind) override {
    if (kind == Audit::new_inputs)
      audited_ = loaded(next_epoch_++);
    else
      throw_on_all(ranks_, [&] { renew_loops(); });
    throw_on_all(ranks_, [&] { begin_check(); });
  }
  Verification end_audit() override { return end_check(); }

  Verification verify_before() override {
    // Makes both checks, whatever the first found on this rank, because other ranks may have other
    // findings.
    const Verification other = verify_run(Audit::new_inputs);
    const Verification timed = verify_run(Audit::poisoned_outputs);
    return other.passed ? timed : other;
  }

  Verification verify_after() override {
    sum_bytes();
    // Runs like the timed runs: no check reads its images meanwhile.
    run(stream());
    const Verification last = judge_last();
    const Verification again = verify_before();
    return last.passed ? again : last;
  }

  Execution execution() const override {
    Execution ran;
    ran.implementation = "libjpeg-turbo, a bare loop";
    ran.numbers["working_threads"] = run_.pipeline.threads;
    return ran;
  }
  std::map<std::string, double> work() const override { return amounts_; }
  std::map<std::string, Metric> metrics() const override { return metrics_; }
  std::map<std::string, double> setup() const override { return seconds_; }

 private:
  static constexpr std::int64_t not_decoded = -1;

  /// The decoder and the last image of one thread.
  struct Thread {
    std::unique_ptr<BareJpegLoop> loop;
    RgbView view;              ///< of its last image
    std::int64_t last = -1;    ///< number of that in the run
    std::int64_t decoded = 0;  ///< images since take_done()
  };

  /// Creates new decoders, whose memory has no image of an earlier run.
  void renew_loops() {
    for (Thread& thread : threads_) thread = {make_bare_jpeg_loop(), {}, -1, thread.decoded};
  }

  void decode(const Task& task, Thread& mine, std::int64_t i) {
    try {
      mine.view = mine.loop->decode(*task.encoded, task.part.reduction, task.part.box);
      mine.last = i;
      ++mine.decoded;
      if (checked_) seen_[static_cast<std::size_t>(i)] = compute_check(mine.view);
    } catch (const std::exception& error) {  // none may leave the parallel region
#pragma omp critical(assay_bare_loop)
      fault_ = fmt::format(
          "{}: {}. The bare loop needs JPEG of one or three colours. Use --reader pipeline.",
          set_->where(task.index), error.what());
    }
  }

  /// The images of a run that starts at this epoch, in memory. Collective.
  Tasks loaded(std::uint64_t epoch) {
    Tasks tasks;
    double lacking = 0;
    throw_on_all(ranks_, [&] { lacking = load(epoch, tasks) ? 0 : 1; });
    ranks_.allreduce_max(std::span(&lacking, 1));
    if (lacking > 0)
      throw CaseError("the encoded images need more memory than is available. Use a smaller n.");
    return tasks;
  }

  /// True if memory suffices.
  bool load(std::uint64_t first_epoch, Tasks& tasks) {
    const std::size_t available = device_.memory_available();
    std::size_t bytes = 0;
    Sample sample;
    const auto decoder = make_image_decoder();
    for (std::int64_t i = 0; i < run_.batches * run_.pipeline.batch; ++i) {
      const std::int64_t step = i / run_.pipeline.batch;
      const std::uint64_t epoch = first_epoch + static_cast<std::uint64_t>(step / share_.steps());
      const std::int64_t position = share_.position(step % share_.steps(), i % run_.pipeline.batch);
      const std::int64_t index = order_.samples(epoch)->at(static_cast<std::size_t>(position));
      const auto [entry, is_new] = tasks.encoded.try_emplace(index);
      if (is_new) {
        good_sample(index, [&] { set_->read(index, sample); });
        entry->second = sample.encoded;
        bytes += sample.encoded.size();
        if (bytes > available) return false;
      }
      tasks.all.push_back(
          {index, epoch, &entry->second,
           decode_part(*decoder, entry->second, run_.pipeline.decode, epoch, index)});
    }
    return true;
  }

  DecodedPart decode_part(ImageDecoder& decoder, const Bytes& encoded, const DecodeSettings& decode,
                          std::uint64_t epoch, std::int64_t index) const {
    DecodedPart part;
    good_sample(index, [&] {
      const ImageSize size = decoder.open(encoded);
      part = find_decoded_part(size, decoder.reduces(), decode, epoch, index);
    });
    return part;
  }

  template <class Body>
  void good_sample(std::int64_t index, const Body& body) const {
    try {
      body();
    } catch (const BadSample& bad) {
      throw InputError(fmt::format("{}: {}. The bare loop leaves no image out. Repair the set.",
                                   set_->where(index), bad.what()));
    }
  }

  void begin_check() {
    checked_ = true;
    seen_.assign((audited_ ? *audited_ : timed_).all.size(), not_decoded);
  }

  /// Judges the images of a checked run. Collective.
  Verification end_check() {
    checked_ = false;
    throw_on_all(ranks_, [&] {
      if (!fault_.empty()) throw InputError(fault_);
    });
    Tasks& tasks = audited_ ? *audited_ : timed_;
    Verification checked = judge(tasks, seen_, "");
    std::vector<std::int64_t> samples;
    for (const Task& task : tasks.all) samples.push_back(task.index);
    checked.fail(
        audit_.fault_of_samples(tasks.all.empty() ? 0 : tasks.all.front().epoch, samples, false));
    audited_.reset();
    return checked;
  }

  Verification verify_run(Audit kind) {
    begin_audit(kind);
    run(stream());
    return end_check();
  }

  /// Judges the last image of each thread, in a run of the timed images.
  Verification judge_last() {
    std::vector<std::int64_t> seen;
    throw_on_all(ranks_, [&] {
      if (!fault_.empty()) throw InputError(fault_);
      seen.assign(timed_.all.size(), not_decoded);
      for (const Thread& thread : threads_)
        if (thread.last >= 0)
          seen[static_cast<std::size_t>(thread.last)] = compute_check(thread.view);
    });
    return judge(timed_, seen, ", of a run as the timed ones", false);
  }

  /// Compares pixels with those of the whole images. `complete`: no image may be missing.
  /// Collective.
  Verification judge(Tasks& tasks, const std::vector<std::int64_t>& seen, const std::string& which,
                     bool complete = true) {
    if (tasks.expected.empty())
      throw_on_all(ranks_, [&] { tasks.expected = compute_expected(tasks); });
    Verification checked;
    checked.exact = true;
    std::int64_t images = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const bool missing = seen[i] == not_decoded;
      if (missing && !complete) continue;
      ++images;
      checked.checked += tasks.all[i].elements();
      if (seen[i] == std::int64_t{tasks.expected[i]}) continue;
      if (checked.reason.empty())
        checked.reason = fmt::format("image {}{}: {} {}", i, which, set_->where(tasks.all[i].index),
                                     missing ? "was not decoded" : "differs from its whole decode");
      checked.wrong_elements += tasks.all[i].elements();
    }
    checked.outputs = checked.checked;
    checked.reference = fmt::format("decode of {} whole images, bit by bit", images);
    checked.passed = checked.reason.empty();
    return checked;
  }

  /// Reads the images of the case again, because the loaded ones may be wrong.
  std::vector<std::uint32_t> compute_expected(const Tasks& tasks) const {
    std::vector<std::uint32_t> expected(tasks.all.size());
    for_each_parallel(std::ssize(tasks.all), [&](std::int64_t i) {
      const std::uint64_t first = tasks.all.front().epoch;
      const InputAudit::Place place = audit_.place(first, i);
      const std::int64_t index = audit_.sample(place);
      Sample sample;
      set_->read(index, sample);
      const auto decoder = make_image_decoder();
      const DecodedPart part =
          decode_part(*decoder, sample.encoded, audit_.decode(), place.epoch, index);
      const PixelView whole =
          decoder->decode(part.reduction, {0, 0, part.size.width, part.size.height});
      expected[static_cast<std::size_t>(i)] =
          compute_check(whole.first + part.box.y * whole.stride + std::int64_t{4} * part.box.x,
                        whole.stride, 4, part.box);
    });
    return expected;
  }

  /// Collective.
  void sum_bytes() {
    double sums[] = {0, static_cast<double>(timed_.all.size())};
    for (const Task& task : timed_.all) sums[0] += static_cast<double>(task.encoded->size());
    RankCalls calls(ranks_);
    calls.prepare(sums);
    calls.sum(sums);
    metrics_ = {{"encoded_bytes_per_image", {sums[0] / sums[1], "B", ""}}};
  }

  HostDevice device_;
  std::shared_ptr<const SampleSet> set_;
  InputRun run_;
  Communicator& ranks_;
  std::map<std::string, double> amounts_, seconds_;
  InputAudit audit_;
  RankShare share_;
  EpochOrder order_;
  std::vector<Thread> threads_;
  Tasks timed_;
  std::optional<Tasks> audited_;     ///< of an audit with new inputs
  std::uint64_t next_epoch_ = 1000;  ///< no timed run comes so far
  bool checked_ = false;             ///< the run notes what it decodes
  std::vector<std::int64_t> seen_;   ///< checks of a checked run's images
  std::string fault_;                ///< of an image that libjpeg refuses
  std::map<std::string, Metric> metrics_;
};

}  // namespace

std::unique_ptr<Workload> make_bare_loop_workload(std::shared_ptr<const SampleSet> set,
                                                  const InputRun& run, const InputClaims& claims,
                                                  Communicator& ranks,
                                                  std::map<std::string, double> amounts,
                                                  double create_seconds) {
  return std::make_unique<BareLoopWorkload>(std::move(set), run, claims, ranks, std::move(amounts),
                                            create_seconds);
}

}  // namespace assay
