#include "core/measure/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/audits.hpp"
#include "core/measure/barrier_skew.hpp"
#include "core/measure/blame_recorder.hpp"
#include "core/measure/blame_rounds.hpp"
#include "core/measure/device_watch.hpp"
#include "core/measure/sample_check.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/shared_contention.hpp"

namespace assay {
namespace {

// Least work between two marks: a clock reading costs 20 to 40 ns, which is then at most 0.2 %.
constexpr double shortest_sample = 20e-6;
// A more expensive reading (two events of a GPU take 1 to 2 us) is at most 1 % of a sample.
constexpr double clocks_of_a_sample = 100;
// After the communication between samples, the first call of several ranks takes 1 to 3 us more
// than later ones, because their caches hold other lines of the shared memory: at most 1 %.
constexpr double shortest_of_ranks = 200e-6;
// Ranks leave the barrier before a sample at different times, and early ranks wait in the sample:
// at most 2 % of it, if a batch of up to a millisecond suffices for that.
constexpr double skews_of_a_sample = 50, longest_for_skew = 1e-3;
constexpr double window_seconds = 0.01;  // of a warm-up window: several scheduler ticks
constexpr double steady =
    0.98;  // a window's median that falls by less than 2 % has stopped falling
// Seconds between two readings of a device's clock, which rises in steps.
constexpr double clock_window = 0.02;
constexpr int largest_batch = 100000;
// Seconds of a batch whose energy is counted: the wait after it is less than 1 % of it.
constexpr double batch_for_energy = 5e-3;
// A chunk is never cut earlier, because agreement between ranks takes time on a busy machine.
constexpr double shortest_wait = 1;

using Clock = std::chrono::steady_clock;

enum Decision { go_on = 0, by_precision = 1, by_time = 2, by_count = 3, by_slowness = 4 };

const char* text(int decision) {
  constexpr const char* texts[] = {"", "precision", "max_time", "max_samples",
                                   "slow: one iteration exceeds the budget"};
  return texts[decision];
}

Clock::time_point later(Clock::time_point time, double seconds) {
  return time + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Makes up to `runs` runs before the sampler's deadline. Returns the seconds of each on its
/// slowest rank.
std::vector<double> warm_up_runs(Sampler& sampler, Communicator& ranks, int runs, Timing& timing) {
  std::vector<double> window;
  for (int i = 0; i < runs; ++i) {
    const double seconds = sampler.once();
    if (sampler.over()) break;  // on every rank at once
    window.push_back(seconds);
  }
  sampler.settle();
  ranks.allreduce_max(window);
  timing.warmup_runs += static_cast<int>(window.size());
  for (const double seconds : window) timing.warmup_s += seconds;
  return window;
}

/// Runs until times stop falling (caches, page tables, clocks, lazily made code); returns seconds
/// of one run. After the first run, wall time is limited, too, because untimed refilling may take
/// longer than the runs.
double warm_up(Sampler& sampler, Communicator& ranks, double budget, Timing& timing) {
  const auto end = later(Clock::now(), 2 * budget);
  double now = warm_up_runs(sampler, ranks, 1, timing).front(), before = 0;
  sampler.set_deadline(end);
  while (!sampler.over()) {
    const double left = budget - timing.warmup_s;
    double runs = std::clamp(std::ceil(window_seconds / std::max(now, 1e-9)), 3.0, 1000.0);
    runs = std::min(runs, std::floor(left / std::max(now, 1e-9)));
    if (left <= 0 || Clock::now() > end || (before > 0 && now >= steady * before)) runs = 0;
    const int agreed = static_cast<int>(ranks.broadcast(runs));
    if (agreed < 1) break;
    before = timing.warmup_runs == 1 ? 0 : now;  // the first run alone is not a window
    const std::vector<double> window = warm_up_runs(sampler, ranks, agreed, timing);
    if (!window.empty()) now = median(window);
  }
  sampler.set_deadline(std::nullopt);
  return now;
}

/// A second early begin in a row gives holding up, or has the runs recorded: neither it nor the
/// first recorded run shall be a sample. Returns seconds of one run.
double settle_hold(Sampler& sampler, Communicator& ranks, double seconds, Timing& timing) {
  for (int run = 0; run < 2; ++run) {
    double more = sampler.holds() && (run > 0 || !sampler.host_included().empty()) ? 1 : 0;
    ranks.allreduce_max(std::span(&more, 1));
    if (more == 0) break;
    seconds = warm_up_runs(sampler, ranks, 1, timing).front();
  }
  return ranks.broadcast(seconds);
}

/// Runs until the clocks of the ranks' devices are steady, for this many seconds at most; returns
/// seconds of one run.
double await_steady_clock(DeviceWatch& watch, Sampler& sampler, Communicator& ranks, double seconds,
                          double longest, Timing& timing) {
  const auto until = later(Clock::now(), longest);
  watch.await_steady([&] {
    if (ranks.broadcast(later(Clock::now(), seconds) <= until ? 1 : 0) == 0) return false;
    std::vector<double> times = warm_up_runs(sampler, ranks, 1, timing);
    if (times.front() < clock_window) {
      sampler.set_deadline(later(Clock::now(), clock_window));
      for (const double time : warm_up_runs(sampler, ranks, 1000, timing)) times.push_back(time);
      sampler.set_deadline(std::nullopt);
    }
    seconds = median(times);
    return true;
  });
  return seconds;
}

/// Number of runs in one sample, so that neither the cost of the clock nor the different start
/// times of ranks matter.
int choose_batch(Sampler& sampler, Communicator& ranks, double seconds, double shortest,
                 Timing& timing) {
  double batch = 1;
  // Single runs include the cost of the clock, so correct the estimate by runs of whole batches.
  for (int i = 0; i < 4; ++i) {
    const double wanted = std::ceil(batch * shortest / std::max(seconds * batch, 1e-9));
    if (wanted <= 1.2 * batch) break;
    batch = ranks.broadcast(std::min<double>(wanted, largest_batch));
    sampler.set_batch(static_cast<int>(batch));
    seconds = sampler.once();
    sampler.settle();
    ranks.allreduce_max(std::span(&seconds, 1));
    timing.warmup_runs += static_cast<int>(batch);
    timing.warmup_s += seconds * batch;
  }
  return static_cast<int>(batch);
}

/// Adds the numbers of single ranks, besides the common samples.
void add_ranks(Timing& timing, Communicator& ranks, const std::vector<double>& own) {
  timing.contention.waiting = worst(timing.contention.waiting, ranks);
  if (ranks.size() == 1) return;
  timing.rank_medians = allgather_numbers(median(own), ranks);
  timing.slowest_host =
      ranks.allgather(ranks.host()).at(static_cast<std::size_t>(timing.slowest_rank));
}

class Measurement {
 public:
  Measurement(Workload& workload, Communicator& ranks, const TimingOptions& options,
              const std::map<std::string, double>& amounts)
      : workload_(workload),
        ranks_(ranks),
        options_(options),
        most_(workload.samples() > 0 ? workload.samples() : std::max(options.max_samples, 1)),
        least_(workload.samples() > 0 ? most_ : std::clamp(options.min_samples, 1, most_)),
        sampler_(workload, ranks),
        check_(workload, sampler_, ranks, amounts),
        audits_(sampler_, ranks),
        energy_(workload, ranks),
        watch_(workload, ranks),
        source_(workload.arrival_source()),
        wins_(static_cast<std::size_t>(ranks.size())) {}

  Timing run() {
    prepare();
    watch_.begin();
    const Contention before = contention();
    start_ = Clock::now();
    const double expected = 2 * least_ * sample_seconds_;
    cut_after(std::max({2 * options_.max_time, expected, shortest_wait}));
    int decision = go_on;
    bool right = true;
    while (right && decision == go_on) {
      right = take(static_cast<int>(ranks_.broadcast(next_chunk())));
      if (right) decision = static_cast<int>(ranks_.broadcast(decide()));
    }
    timing_.contention = between(before, contention(), seconds_since(start_));
    watch_.end();
    if (right) run_for_energy();
    timing_.blame = find_blame(right);
    check_.expect_samples(timing_.samples);
    timing_.energy = energy_.compute();
    timing_.device_state = watch_.summarize();
    timing_.stopped_by = text(decision);
    for (const Audit kind : Audits::last(slow())) right = right && audits_.run(kind, false);
    if (right) audits_.compare_with(median(timing_.samples));
    timing_.audits = audits_.verification();
    timing_.audited_runs = audits_.runs();
    ranks_.allreduce_max(wins_);  // each rank knows its own count alone
    timing_.slowest_rank =
        static_cast<int>(std::max_element(wins_.begin(), wins_.end()) - wins_.begin());
    if (!own_.empty()) add_ranks(timing_, ranks_, own_);
    timing_.host_included = Agreement(host_text(), ranks_).text();
    timing_.held = sampler_.holds() && timing_.host_included.empty();
    return std::move(timing_);
  }

 private:
  std::string host_text() const {
    if (host_samples_ == 0) return "";
    return fmt::format("{} of {} samples: {}", host_samples_, own_.size(), why_host_);
  }

  /// Warms up, reads what the clock costs, and chooses the batch.
  void prepare() {
    double seconds = ranks_.broadcast(warm_up(sampler_, ranks_, options_.max_time / 5, timing_));
    if (workload_.samples() == 0) seconds = settle_hold(sampler_, ranks_, seconds, timing_);
    seconds =
        await_steady_clock(watch_, sampler_, ranks_, seconds, options_.longest_clock_wait, timing_);
    timing_.timer_overhead_s = sampler_.clock();
    sampler_.settle();
    ranks_.allreduce_max(std::span(&timing_.timer_overhead_s, 1));
    timing_.skew_s = barrier_skew(ranks_);
    const double shortest =
        std::max({ranks_.size() > 1 ? shortest_of_ranks : shortest_sample,
                  clocks_of_a_sample * timing_.timer_overhead_s,
                  std::min(skews_of_a_sample * timing_.skew_s, longest_for_skew)});
    double single = workload_.batchable() && seconds < shortest ? 0 : 1;
    ranks_.allreduce_max(std::span(&single, 1));
    if (single == 0) timing_.batch = choose_batch(sampler_, ranks_, seconds, shortest, timing_);
    sample_seconds_ = seconds * timing_.batch;
  }

  /// Samples are taken for this many seconds on the wall at most, checks not counted.
  void cut_after(double seconds) { sampler_.set_deadline(later(Clock::now(), seconds)); }

  bool slow() const { return workload_.samples() == 0 && sample_seconds_ > options_.max_time; }

  /// Seconds on the wall without those of the checks.
  double elapsed() const { return seconds_since(start_) - audits_.seconds(); }

  /// Rank 0 chooses the size of the chunk and the end. Chunks grow with the number of samples, so
  /// the interval, which takes 1 ms for fifty samples, is rarely computed.
  double next_chunk() const {
    const int have = static_cast<int>(timing_.samples.size());
    if (have < least_) return slow() || beyond_ ? 1 : least_ - have;
    const double room = std::min(options_.max_time - timed_, options_.max_time / 4) /
                        std::max(sample_seconds_, 1e-9);
    return std::clamp(std::floor(std::min(have / 2.0, room)), 1.0,
                      static_cast<double>(most_ - have));
  }

  /// Takes successive samples and counts their energy: for each long sample separately, without the
  /// work before it (refilled tensors), else for all samples together. With several ranks always
  /// together, because ranks end their runs at different times.
  void samples_in_a_row(int count) {
    std::vector<double> own;
    own.reserve(static_cast<std::size_t>(count));
    const bool each = ranks_.size() == 1 && energy_.resolves(sample_seconds_);
    // Between held samples the device idles, so run_for_energy() makes runs without gaps.
    const bool together = !each && !sampler_.holds();
    if (each) sampler_.count_energy(&energy_);
    if (ranks_.size() > 1 && source_.kind == ArrivalSource::Kind::steps) {
      if (!recorder_)
        recorder_.emplace(ranks_, RecordedJob{"the timed steps", source_.network, device_name()});
      workload_.take_arrivals();  // discards those of other runs
      recorder_->begin();
    }
    check_.begin();
    if (together) energy_.begin();
    for (int i = 0; i < count; ++i) {
      const double seconds = check_.once(timing_.batch);
      if (sampler_.over()) break;  // on every rank at once
      own.push_back(seconds);
      if (sampler_.host_included().empty()) continue;
      ++host_samples_;
      why_host_ = sampler_.host_included();
    }
    sampler_.count_energy(nullptr);
    sampler_.settle();  // every rank has ended its runs
    check_.end(timing_.batch);
    const double timed = add(own);
    if (together) energy_.end(static_cast<double>(own.size()) * timing_.batch, timed);
    // After energy and time were checked, because this sends messages.
    if (recorder_) recorder_->end(workload_.take_arrivals());
  }

  /// If the samples were too short for the energy counters, makes further runs, which are not
  /// samples, and counts their energy. They take at most max_time.
  void run_for_energy() {
    // Runs may be faster than the median of the samples.
    constexpr double margin = 1.25;
    double seconds = margin * energy_.missing_s();
    ranks_.allreduce_max(std::span(&seconds, 1));
    if (seconds == 0 || seconds > options_.max_time || workload_.samples() > 0) return;
    const int count = static_cast<int>(ranks_.broadcast(
        std::clamp(std::ceil(seconds / std::max(sample_seconds_, 1e-9)), 1.0, 1e6)));
    cut_after(options_.max_time);
    const int batch = follow_each_other();
    const double wanted = static_cast<double>(count) * timing_.batch;
    double timed = 0, runs = 0;
    energy_.begin();
    while (runs < wanted) {
      const double each = sampler_.once();
      if (sampler_.over()) break;  // on every rank at once
      timed += each * batch;
      runs += batch;
    }
    sampler_.settle();
    sampler_.hold(true);
    sampler_.set_batch(timing_.batch);
    ranks_.allreduce_max(std::span(&timed, 1));
    energy_.end(runs, timed);
  }

  /// The device, with its address if it reports one; "" if it is the host.
  std::string device_name() {
    Device* const device = workload_.device();
    if (device == nullptr || device->name() == "cpu") return "";
    const std::optional<DeviceHealth> health = workload_.device_health();
    return health && !health->device.empty() ? health->device : device->name();
  }

  /// Finds slow ranks by the arrivals in the samples, or else in rounds of their own. Collective.
  std::optional<Blame> find_blame(bool right) {
    if (ranks_.size() == 1 || !right) return std::nullopt;
    if (recorder_) return recorder_->make_blame();
    if (source_.kind != ArrivalSource::Kind::collective) {
      Blame none;
      none.unsupported = source_.unsupported.empty()
                             ? "its runs do not tell when ranks come to a collective"
                             : source_.unsupported;
      return none;
    }
    sampler_.set_batch(1);
    Blame blame =
        blame_in_rounds(workload_, sampler_, ranks_,
                        {sample_seconds_ / timing_.batch, options_.max_time, source_.network});
    sampler_.set_batch(timing_.batch);
    return blame;
  }

  /// Sets the sampler to runs between which the device does not wait. Returns their number in a
  /// batch.
  int follow_each_other() {
    double batch = timing_.batch;
    if (sampler_.holds() && workload_.batchable())
      batch = std::clamp(std::ceil(batch * batch_for_energy / std::max(sample_seconds_, 1e-9)),
                         batch, static_cast<double>(largest_batch));
    sampler_.hold(false);
    batch = ranks_.broadcast(batch);
    sampler_.set_batch(static_cast<int>(batch));
    return static_cast<int>(batch);
  }

  /// Takes a chunk of samples with the audits among them. False if an audit found wrong results.
  bool take(int chunk) {
    bool right = true;
    int done = 0;
    const auto samples_until = [&](int end) {
      if (end > done) samples_in_a_row(end - done);
      done = std::max(done, end);
    };
    for (const Audits::Moment& moment : audits_.plan(chunk, elapsed())) {
      samples_until(moment.before);
      if (sampler_.over()) break;
      watch_.end();
      right = audits_.run(moment.kind, true);
      watch_.begin();
      if (!right) break;
    }
    if (right) samples_until(chunk);
    return right;
  }

  /// Adds samples of this rank. Returns the seconds of all of them on the slowest rank of each.
  double add(const std::vector<double>& own) {
    std::vector<double> slowest = own;
    ranks_.allreduce_max(slowest);
    double timed = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] == slowest[i]) wins_[static_cast<std::size_t>(ranks_.rank())] += 1;
      timed += slowest[i] * timing_.batch;
    }
    timed_ += timed;
    timing_.samples.insert(timing_.samples.end(), slowest.begin(), slowest.end());
    own_.insert(own_.end(), own.begin(), own.end());
    return timed;
  }

  int decide() {
    // The budget was over before the first sample, because untimed work before it (refilled
    // tensors) may take longer. One sample is taken without a budget.
    if (timing_.samples.empty()) {
      sampler_.set_deadline(std::nullopt);
      beyond_ = true;
      return go_on;
    }
    const Summary summary = summarize(timing_.samples);
    sample_seconds_ = summary.median * timing_.batch;
    // The chunk was cut, because the machine became slower during it.
    if (beyond_ || sampler_.over()) return summary.n < least_ && slow() ? by_slowness : by_time;
    if (summary.n < least_) return slow() ? by_slowness : go_on;
    if (summary.ci95 &&
        summary.ci95->high - summary.ci95->low <= options_.precision_target * summary.median)
      return by_precision;
    if (summary.n >= most_) return by_count;
    if (timed_ >= options_.max_time || elapsed() > 2 * options_.max_time) return by_time;
    return go_on;
  }

  Workload& workload_;
  Communicator& ranks_;
  const TimingOptions& options_;
  int most_, least_;
  Sampler sampler_;
  SampleCheck check_;
  Audits audits_;
  EnergyCount energy_;
  DeviceWatch watch_;
  ArrivalSource source_;
  std::optional<BlameRecorder> recorder_;  ///< of arrivals in samples
  Timing timing_;
  std::vector<double> own_;   ///< this rank's samples
  std::vector<double> wins_;  ///< samples in which each rank was the slowest
  Clock::time_point start_;
  int host_samples_ = 0;  ///< samples whose time may contain host time
  std::string why_host_;
  double timed_ = 0, sample_seconds_ = 0;
  bool beyond_ = false;  ///< the budget was over before the first sample
};

}  // namespace

Timing measure(Workload& workload, Communicator& ranks, const TimingOptions& options,
               const std::map<std::string, double>& amounts) {
  return Measurement(workload, ranks, options, amounts).run();
}

}  // namespace assay
