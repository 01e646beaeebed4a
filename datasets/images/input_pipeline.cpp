#include "datasets/images/input_pipeline.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "core/api/host_device.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "datasets/images/epoch_order.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kept_messages = 10;

/// OpenMP may have bound the calling thread to one processor, and new threads inherit its binding.
/// They get all processors of OpenMP's threads instead.
void use_all_processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  std::vector<int> ids;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    ids.resize(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    for (const int id : ids)
      if (id < CPU_SETSIZE) CPU_SET(id, &all);
  }
  if (CPU_COUNT(&all) > 0) sched_setaffinity(0, sizeof(all), &all);
}

std::string too_many(std::int64_t count, const std::string& last,
                     const PipelineSettings& settings) {
  return fmt::format("{} (bad sample {}; --max-bad-samples is {}). Repair the set, or allow more.",
                     last, count, settings.max_bad_samples);
}

}  // namespace

RankShare make_share(const SampleSet& set, const PipelineSettings& settings) {
  return {set.size(), settings.batch, settings.rank, settings.ranks, settings.decode.training};
}

EpochOrder make_order(const SampleSet& set, const PipelineSettings& settings) {
  return {set.size(), set.shards(), settings.decode.seed, settings.shuffle, settings.interleave};
}

void expect_usable(const SampleSet& set, const PipelineSettings& settings) {
  // The set does not contain its damaged parts.
  const auto& faults = set.faults();
  if (std::ssize(faults) > settings.max_bad_samples)
    throw InputError(too_many(std::ssize(faults), faults.back(), settings));
  if (make_share(set, settings).steps() == 0)
    throw InputError(fmt::format(
        "a batch of {} on {} rank{} exceeds the set of {} samples ({}{}). Use a smaller batch{}.",
        settings.batch, settings.ranks, settings.ranks == 1 ? "" : "s", set.size(), set.canonical(),
        faults.empty() ? "" : "; " + faults.back(), faults.empty() ? "" : ", or repair the set"));
}

/// One mutex guards all that is shared; it is held only to take and to give back one sample.
class InputPipeline::Threads {
 public:
  Threads(const SampleSet& set, const PipelineSettings& settings)
      : set_(set),
        settings_(settings),
        share_(make_share(set, settings)),
        order_(make_order(set, settings)),
        slots_(static_cast<std::size_t>(settings.prefetch) + 1) {
    expect_usable(set, settings);
    for (Slot& slot : slots_) {
      const auto elements = static_cast<std::size_t>(settings.batch * settings.decode.elements());
      slot.memory = HostDevice().host_memory(elements * sizeof(float));
      slot.images = {static_cast<float*>(slot.memory.get()), elements};
      std::fill(slot.images.begin(), slot.images.end(), 0.0F);
      slot.labels.resize(static_cast<std::size_t>(settings.batch));
      slot.samples.resize(static_cast<std::size_t>(settings.batch));
      slot.batch.images = slot.images;
      slot.batch.labels = slot.labels;
      slot.batch.samples = slot.samples;
    }
    try {
      for (int i = 0; i < settings.threads; ++i) workers_.emplace_back([this] { work(); });
    } catch (...) {  // the system refuses a thread: end those that have started
      stop();
      throw;
    }
  }

  ~Threads() { stop(); }

  std::int64_t steps() const { return share_.steps(); }
  int threads() const { return static_cast<int>(workers_.size()); }
  int prefetch() const { return static_cast<int>(slots_.size()) - 1; }

  void start(const PipelineState& state, std::int64_t batches) {
    std::unique_lock lock(mutex_);
    limit_ = 0;
    idle_.wait(lock, [&] { return busy_ == 0; });
    failure_ = nullptr;
    first_epoch_ = state.epoch;
    first_step_ = state.step;
    bad_.insert(state.bad_samples.begin(), state.bad_samples.end());
    wanted_ = next_step_ = next_element_ = 0;
    paused_ = false;
    counters_ = {};
    limit_ = batches;
    lock.unlock();
    work_.notify_all();
  }

  const Batch& next() {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (wanted_ >= limit_) throw std::logic_error("the pipeline was started for fewer batches");
    const std::int64_t step = wanted_++;
    paused_ = false;
    work_.notify_all();
    Slot& slot = find_slot(step);
    batch_ready_.wait(lock, [&] { return next_step_ > step && slot.left == 0; });
    counters_.stall_s += seconds_since(start);
    if (slot.error) {
      failure_ = slot.error;
      limit_ = wanted_;
      std::rethrow_exception(failure_);
    }
    slot.batch.count = std::count_if(slot.labels.begin(), slot.labels.end(),
                                     [](std::int64_t label) { return label >= 0; });
    ++counters_.batches;
    counters_.images += slot.batch.count;
    return slot.batch;
  }

  void pause() {
    const std::lock_guard lock(mutex_);
    paused_ = true;
  }

  PipelineState state() const {
    const std::lock_guard lock(mutex_);
    const std::int64_t step = first_step_ + wanted_;
    return {first_epoch_ + static_cast<std::uint64_t>(step / steps()),
            step % steps(),
            {bad_.begin(), bad_.end()}};
  }

  PipelineCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  std::int64_t bad_samples() const {
    const std::lock_guard lock(mutex_);
    return std::ssize(bad_) + std::ssize(set_.faults());
  }

  std::vector<std::string> messages() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all = set_.faults();
    all.insert(all.end(), messages_.begin(), messages_.end());
    return all;
  }

  void poison() {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) {
      std::fill(slot.images.begin(), slot.images.end(), std::numeric_limits<float>::quiet_NaN());
      std::fill(slot.labels.begin(), slot.labels.end(), -2);
      std::fill(slot.samples.begin(), slot.samples.end(), -2);
    }
  }

 private:
  /// The memory of one batch.
  struct Slot {
    std::shared_ptr<void> memory;  ///< of the images, aligned to 64 bytes
    std::span<float> images;
    std::vector<std::int64_t> labels, samples;
    std::int64_t left = 0;       ///< images that are still to be made
    std::int64_t failed_at = 0;  ///< element with the error
    std::exception_ptr error;    ///< of the first element that has one
    Batch batch;
  };

  Slot& find_slot(std::int64_t step) {
    return slots_[static_cast<std::size_t>(step % std::ssize(slots_))];
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    work_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  /// One sample to be made.
  struct Task {
    std::int64_t step = 0, element = 0;  ///< since start()
    std::uint64_t epoch = 0;
    std::int64_t position = -1;
    Slot* slot = nullptr;
  };

  bool may_begin() const {
    return !paused_ && next_step_ < std::min(limit_, wanted_ + settings_.prefetch);
  }

  /// Call it with the mutex held. It takes the elements of a step in order, and the steps one after
  /// the other.
  Task take() {
    Task task{next_step_, next_element_, 0, -1, &find_slot(next_step_)};
    const std::int64_t step = first_step_ + task.step;
    task.epoch = first_epoch_ + static_cast<std::uint64_t>(step / steps());
    task.position = share_.position(step % steps(), task.element);
    if (task.element == 0) {
      task.slot->left = settings_.batch;
      task.slot->error = nullptr;
      task.slot->batch.epoch = task.epoch;
      task.slot->batch.step = step % steps();
    }
    if (++next_element_ == settings_.batch) {
      next_element_ = 0;
      ++next_step_;
    }
    ++busy_;
    return task;
  }

  void work() {
    use_all_processors();
    Worker mine{nullptr, {}, {}};
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return ending_ || may_begin(); });
      if (ending_) return;
      const Task task = take();
      lock.unlock();
      mine.counters = {};
      std::exception_ptr error;
      try {
        if (!mine.decoder) mine.decoder = std::make_unique<SampleDecoder>(settings_.decode);
        make(task, mine);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --busy_;
      counters_.decoded += mine.counters.decoded;
      counters_.bytes += mine.counters.bytes;
      counters_.read_s += mine.counters.read_s;
      counters_.decode_s += mine.counters.decode_s;
      if (error && (!task.slot->error || task.element < task.slot->failed_at)) {
        task.slot->error = error;
        task.slot->failed_at = task.element;
      }
      // Only a complete batch wakes the consumer, which takes a processor from the threads.
      if (--task.slot->left == 0) batch_ready_.notify_all();
      if (busy_ == 0 && limit_ == 0) idle_.notify_all();
    }
  }

  struct Worker {
    std::unique_ptr<SampleDecoder> decoder;
    Sample sample;
    PipelineCounters counters;  ///< of one sample
  };

  void make(const Task& task, Worker& mine) {
    const auto at = static_cast<std::size_t>(task.element);
    const std::int64_t elements = settings_.decode.elements();
    float* const out = task.slot->images.data() + task.element * elements;
    std::int64_t index = -1;
    if (task.position >= 0)
      index = (*order_.samples(task.epoch))[static_cast<std::size_t>(task.position)];
    // Every thread and rank judges a sample alike, so all of them choose the same replacement.
    for (std::int64_t tried = 0; index >= 0 && !good(index, task.epoch, mine, out); ++tried) {
      index = settings_.decode.training ? (index + 1) % set_.size() : -1;
      if (tried == set_.size())
        throw InputError(fmt::format("no sample of {} can be used. Repair it.", set_.canonical()));
    }
    task.slot->samples[at] = index;
    task.slot->labels[at] = index < 0 ? -1 : mine.sample.label;
    if (index < 0) std::fill_n(out, elements, 0.0F);
  }

  /// True if a sample could be read and decoded. InputError: one bad sample too many.
  bool good(std::int64_t index, std::uint64_t epoch, Worker& mine, float* out) {
    const Clock::time_point start = Clock::now();
    try {
      set_.read(index, mine.sample);
      mine.counters.read_s += seconds_since(start);
      mine.counters.bytes += std::ssize(mine.sample.encoded);
    } catch (const BadSample& bad) {
      note(index, bad.what());
      return false;
    }
    const Clock::time_point decoding = Clock::now();
    try {
      mine.decoder->decode(mine.sample.encoded, epoch, index, out);
      mine.counters.decode_s += seconds_since(decoding);
      ++mine.counters.decoded;
      return true;
    } catch (const BadSample& bad) {
      note(index, fmt::format("{}: {}", set_.where(index), bad.what()));
      return false;
    }
  }

  void note(std::int64_t index, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (bad_.insert(index).second && messages_.size() < kept_messages) messages_.push_back(message);
    const std::int64_t count = std::ssize(bad_) + std::ssize(set_.faults());
    if (count > settings_.max_bad_samples) throw InputError(too_many(count, message, settings_));
  }

  const SampleSet& set_;
  const PipelineSettings settings_;
  const RankShare share_;
  const EpochOrder order_;

  mutable std::mutex mutex_;                    // guards all that follows
  std::condition_variable work_;                // for the threads
  std::condition_variable batch_ready_, idle_;  // for the caller: a batch; all threads at rest
  std::vector<Slot> slots_;
  std::uint64_t first_epoch_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t limit_ = 0;                         ///< most batches that are made since start()
  std::int64_t wanted_ = 0;                        ///< calls of next() since start()
  std::int64_t next_step_ = 0, next_element_ = 0;  ///< the next to be taken
  int busy_ = 0;                                   ///< threads that make a sample
  bool paused_ = false, ending_ = false;
  std::set<std::int64_t> bad_;
  std::vector<std::string> messages_;
  std::exception_ptr failure_;
  PipelineCounters counters_;
  std::vector<std::thread> workers_;
};

InputPipeline::InputPipeline(const SampleSet& set, const PipelineSettings& settings)
    : threads_(std::make_unique<Threads>(set, settings)) {}
InputPipeline::~InputPipeline() = default;

std::int64_t InputPipeline::steps() const { return threads_->steps(); }
int InputPipeline::threads() const { return threads_->threads(); }
int InputPipeline::prefetch() const { return threads_->prefetch(); }
void InputPipeline::start(const PipelineState& state, std::int64_t batches) {
  threads_->start(state, batches);
}
const Batch& InputPipeline::next() { return threads_->next(); }
void InputPipeline::pause() { threads_->pause(); }
PipelineState InputPipeline::state() const { return threads_->state(); }
PipelineCounters InputPipeline::counters() const { return threads_->counters(); }
std::int64_t InputPipeline::bad_samples() const { return threads_->bad_samples(); }
std::vector<std::string> InputPipeline::bad_sample_messages() const { return threads_->messages(); }
void InputPipeline::poison() { threads_->poison(); }

}  // namespace assay
