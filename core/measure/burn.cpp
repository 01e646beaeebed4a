#include "core/measure/burn.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/energy.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/measure/agreement.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// Number of windows that a row reports. Each window uses all kinds of data.
constexpr double windows_of_burn = 6;
constexpr double shortest_stretch = 0.1;  ///< seconds of one kind of data and load
/// After this many seconds of runs, ranks agree on the results and rank 0 reads the clock.
constexpr double seconds_of_batch = 0.02;
/// Sums without a fixed order already differ in the first runs; results that differ only later may
/// be a fault.
constexpr double runs_of_probation = 8;
/// Outputs are poisoned before each run if poisoning and comparison take at most this part of a
/// run, else once in runs_of_poison runs. All checks should take 5 % of the time, and the
/// comparison alone may need most of it.
constexpr double part_of_checks = 0.04;
constexpr int runs_of_poison = 17;     ///< a prime, so that it meets periodic faults
constexpr double most_undecided = 16;  ///< of one kind of data, which is then excluded
constexpr std::size_t most_located = 8;
constexpr int repetitions = 3;

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string format_processors() {
  std::string all;
  for (const int number : environment::list_allowed_processors())
    all += (all.empty() ? "" : ",") + std::to_string(number);
  return all;
}

class BurnLoop {
 public:
  BurnLoop(BurnTarget& target, Workload& workload, Communicator& ranks, double seconds)
      : target_(target), workload_(workload), ranks_(ranks), wanted_(seconds) {}

  Burn run(std::optional<Burn>* unfinished) {
    begin();
    const auto begun = Clock::now();
    try {
      while (usable() && wall(begun) < wanted_) burn_window(begun);
      end(begun, true);
    } catch (...) {
      // Other ranks are still in the runs.
      if (unfinished != nullptr && ranks_.size() == 1) {
        end(begun, false);
        *unfinished = std::move(burn_);
      }
      throw;
    }
    return std::move(burn_);
  }

 private:
  void burn_window(Clock::time_point begun) {
    const double stretch = std::max(
        shortest_stretch, wanted_ / windows_of_burn / 2 / static_cast<double>(burn_.data.size()));
    const auto usable_kinds = [&] {
      return std::ranges::count_if(burn_.data, [](const auto& k) { return k.excluded.empty(); });
    };
    const auto kinds = usable_kinds();
    Burn::Window window;
    bool whole = true;
    for (const bool pauses : {false, true})
      for (std::size_t kind = 0; kind < burn_.data.size(); ++kind) {
        if (!burn_.data[kind].excluded.empty()) continue;
        const double left = wanted_ - wall(begun);
        whole = whole && left >= stretch;
        if (left > 0 || !pauses) burn_stretch(kind, std::min(stretch, left), pauses, window);
      }
    window.unix_s = unix_now();
    if (kinds != usable_kinds())
      burn_.windows.clear();  // later windows have another mix of data
    else if (whole)
      burn_.windows.push_back(window);
  }

  bool usable() const {
    return std::ranges::any_of(burn_.data, [](const Burn::Kind& k) { return k.excluded.empty(); });
  }
  /// The time of rank 0, so that all ranks stop together.
  double wall(Clock::time_point begun) { return ranks_.broadcast(seconds_since(begun)); }

  void begin() {
    burn_.started_unix_s = unix_now();
    burn_.device = workload_.device() == nullptr ? "" : workload_.device()->name();
    if (burn_.device != "cpu")
      if (const auto health = workload_.device_health()) address_ = health->device;
    for (const BurnTarget::Data& data : target_.burn_data()) {
      Burn::Kind& kind = burn_.data.emplace_back();
      kind.name = data.name;
      kind.exact = data.exact;
    }
    if (ranks_.rank() == 0) begin_energy();
    for (std::size_t kind = 0; kind < burn_.data.size(); ++kind) learn(kind);
  }

  /// The first run on the data, with which all later runs are compared. Its results must be
  /// correct.
  void learn(std::size_t kind) {
    target_.load_data(kind);
    run_s_.push_back(one_run());
    golden_.push_back(target_.digest());
    right_.push_back(target_.outputs());
    const Verification checked = target_.check_outputs();
    std::string why;
    if (!checked.passed)
      why = fmt::format("{} (burn-in, {} data)", checked.reason, burn_.data[kind].name);
    const Agreement wrong(checked.wrong() ? why : "", ranks_);
    if (!wrong.none()) throw WrongResult(wrong.describe());
    burn_.data[kind].excluded = Agreement(why, ranks_).text();
  }

  double one_run(bool poisoned = true) {
    target_.restore();
    const auto poisons = Clock::now();
    if (poisoned) {
      since_poison_ = 0;
      target_.poison_outputs();
      poison_s_ = seconds_since(poisons);
      check_s_ += poison_s_;
    }
    const auto start = Clock::now();
    target_.run_once();
    return seconds_since(start);
  }

  /// Runs on one kind of data for this many seconds. `pauses`: the processors idle half of the
  /// time, so that the load and the power alternate.
  void burn_stretch(std::size_t kind, double seconds, bool pauses, Burn::Window& window) {
    Burn::Kind& data = burn_.data[kind];
    target_.load_data(kind);
    const auto begun = Clock::now();
    double of_run = 0;
    do {
      const double wanted = std::clamp(seconds_of_batch / std::max(of_run, 1e-7), 1.0, 10000.0);
      const bool many = of_run > 0 && data.runs >= runs_of_probation;
      const auto runs = static_cast<int>(ranks_.broadcast(many ? std::floor(wanted) : 1));
      const Batch done = batch(kind, runs);
      run_s_[kind] = of_run = done.seconds / runs;
      window.runs += runs;
      window.seconds += done.seconds;
      if (excludes(data, done.repeats)) break;
      if (pauses) idle(done.seconds);
    } while (wall(begun) < seconds);
  }

  /// Excludes data if most of its first runs differ, or if they still differ after the inputs were
  /// rewritten. `repeats`: if the last run differed, a repetition was correct.
  bool excludes(Burn::Kind& data, bool repeats) {
    if (data.undecided >= most_undecided) {
      data.excluded = "too many runs differ";
      return true;
    }
    const bool first = data.runs <= runs_of_probation;
    if (data.undecided == 0 || !first || (repeats && data.undecided <= runs_of_probation / 2))
      return false;
    data.excluded = fmt::format(
        "{:.0f} of the first {:.0f} runs differ within the bounds of rounding errors (its sums "
        "have no "
        "fixed order)",
        data.undecided, data.runs);
    data.undecided = 0;  // its runs do not count
    if (data.faulty == 0)
      std::erase_if(faults_, [&](const BurnFault& fault) { return fault.data == data.name; });
    return true;
  }

  void idle(double seconds) const {
    timespec pause{static_cast<time_t>(seconds),
                   static_cast<long>((seconds - std::floor(seconds)) * 1e9)};
    nanosleep(&pause, nullptr);
  }

  /// Runs of this rank, each of which was compared.
  struct Batch {
    double runs = 0, poisoned = 0, seconds = 0, differing = 0, wrong = 0;
    bool noted = false;   ///< the first differing run is the last entry of faults_
    bool repeats = true;  ///< a later run on the same inputs was correct
  };

  /// Makes this many runs. The ranks then agree whether all were correct, and examine a run that
  /// was not.
  Batch batch(std::size_t kind, int runs) {
    Batch done;
    try {
      for (int i = 0; i < runs; ++i) {
        ++since_poison_;
        one_of_batch(kind,
                     since_poison_ >= runs_of_poison ||
                         poison_s_ + compare_s_ <= part_of_checks * run_s_[kind],
                     done);
      }
    } catch (...) {
      if (ranks_.size() == 1) count(kind, done);
      throw;
    }
    double any = done.differing;
    ranks_.allreduce_max(std::span(&any, 1));
    if (any > 0) done.repeats = repeat(kind, done.noted);
    count(kind, done);
    return done;
  }

  void one_of_batch(std::size_t kind, bool poisoned, Batch& done) {
    done.seconds += one_run(poisoned);
    ++done.runs;
    done.poisoned += poisoned;
    const auto start = Clock::now();
    const bool same = target_.digest() == golden_[kind];
    compare_s_ = seconds_since(start);
    check_s_ += compare_s_;
    if (same) return;
    ++done.differing;
    BurnFault fault;
    const BurnTarget::Elements changed = locate(target_.outputs(), right_[kind], fault);
    if (burn_.data[kind].exact || target_.is_wrong(changed)) ++done.wrong;
    if (done.noted || faults_.size() >= most_located) return;
    note(kind, fault);
    faults_.push_back(fault);
    done.noted = true;
  }

  /// Adds the counts of all ranks.
  void count(std::size_t kind, const Batch& done) {
    Burn::Kind& data = burn_.data[kind];
    data.runs += done.runs;
    data.poisoned += done.poisoned;
    data.seconds += done.seconds;
    for (const double of_rank : allgather_numbers(done.wrong, ranks_)) data.faulty += of_rank;
    for (const double of_rank : allgather_numbers(done.differing - done.wrong, ranks_))
      data.undecided += of_rank;
  }

  /// Records the moment of a fault.
  void note(std::size_t kind, BurnFault& fault) {
    fault.unix_s = unix_now();
    fault.rank = ranks_.rank();
    fault.host = ranks_.host();
    fault.data = burn_.data[kind].name;
    fault.device = address_;
    if (burn_.device == "cpu")
      fault.processors = fmt::format("{} of {}", sched_getcpu(), format_processors());
    if (const auto state = workload_.device_state()) {
      fault.temperature_celsius = state->temperature_celsius;
      fault.clock_hz = state->clock_hz;
      return;
    }
    const json here = capture_volatile();
    if (const json heat = here.value("temperature_celsius", json()); heat.is_number())
      fault.temperature_celsius = heat.get<double>();
  }

  /// Runs again on the same inputs, then on rewritten inputs: this distinguishes a fault of a run
  /// from a fault of memory. Returns true if a run was correct. `noted`: the fault is the last
  /// entry of faults_.
  bool repeat(std::size_t kind, bool noted) {
    std::string remark;
    bool right = false;
    for (int i = 0; i < 2 * repetitions && !right; ++i) {
      if (i == repetitions) target_.load_data(kind);
      one_run();
      double differs = target_.digest() == golden_[kind] ? 0 : 1;
      ranks_.allreduce_max(std::span(&differs, 1));
      right = differs == 0;
      if (i < repetitions) continue;
      remark = right ? "right again once the inputs were written again: memory had changed"
                     : "wrong in every further run";
    }
    if (noted) faults_.back().remark = remark;
    return right;
  }

  void begin_energy() {
    try {
      const Result<EnergyMeter*> meter = workload_.energy_meter();
      if (std::holds_alternative<EnergyMeter*>(meter)) meter_ = std::get<EnergyMeter*>(meter);
      if (meter_ != nullptr) joules_ = meter_->read();
      read_at_ = Clock::now();
    } catch (const CaseError&) {
      meter_ = nullptr;
    }
  }

  void end_energy() {
    if (meter_ == nullptr) return;
    try {
      const std::vector<double> now = meter_->read();
      const double seconds = seconds_since(read_at_);
      for (std::size_t i = 0; i < now.size(); ++i) {
        const EnergyDomain& domain = meter_->domains()[i];
        burn_.power_w[domain.name] = joules_between(domain, joules_[i], now[i], seconds) / seconds;
      }
    } catch (const CaseError&) {
      burn_.power_w.clear();  // a counter was reset, or wrapped around more than once
    }
  }

  /// `whole`: no error cut the burn-in short.
  void end(Clock::time_point begun, bool whole) {
    burn_.wall_s = wall(begun);
    end_energy();
    if (whole) {
      target_.load_data(burn_.data.size() - 1);  // later checks see the results of a run
      one_run();
    }
    const auto ranks = static_cast<double>(ranks_.size());
    for (Burn::Kind& data : burn_.data) {
      data.runs *= ranks;
      double poisoned = 0;
      for (const double of_rank : allgather_numbers(data.poisoned, ranks_)) poisoned += of_rank;
      data.poisoned = poisoned;
      ranks_.allreduce_max(std::span(&data.seconds, 1));
      burn_.faulty += data.faulty;
      burn_.undecided += data.undecided;
      if (!counts(data)) continue;
      burn_.runs += data.runs;
      burn_.poisoned += data.poisoned;
      burn_.seconds += data.seconds;
    }
    burn_.check_s = check_s_;
    ranks_.allreduce_max(std::span(&burn_.check_s, 1));
    const std::string where = burn_.device == "cpu" ? "processors " + format_processors()
                              : address_.empty()    ? burn_.device
                                                    : burn_.device + " " + address_;
    burn_.places = ranks_.allgather(fmt::format("{}: {}", ranks_.host(), where));
    gather_faults();
    burn_.device_hours = burn_.seconds * ranks / 3600;
    if (!(burn_.device_hours > 0)) return;
    burn_.faults_per_device_hour = burn_.faulty / burn_.device_hours;
    burn_.limit_per_device_hour = compute_poisson_limit(burn_.faulty, burn_.device_hours);
  }

  void gather_faults() {
    json mine = json::array();
    for (const BurnFault& fault : faults_) mine.push_back(fault);
    for (const json& of_rank : allgather_json(mine, ranks_))
      for (const json& fault : of_rank) burn_.faults.push_back(fault);
    std::ranges::stable_sort(burn_.faults, {}, &BurnFault::unix_s);
    if (burn_.faults.size() > most_located) burn_.faults.resize(most_located);
  }

  BurnTarget& target_;
  Workload& workload_;
  Communicator& ranks_;
  double wanted_;
  Burn burn_;
  std::string address_;                         ///< of a device that is not the host's processors
  std::vector<std::uint64_t> golden_;           ///< digests of right outputs, by kind of data
  std::vector<std::vector<BurnOutput>> right_;  ///< those outputs
  std::vector<BurnFault> faults_;               ///< of this rank
  double check_s_ = 0;                          ///< of all comparisons and poisonings
  int since_poison_ = 0;
  std::vector<double> run_s_;            ///< of the last batch, by kind of data
  double compare_s_ = 0, poison_s_ = 0;  ///< of the last ones
  EnergyMeter* meter_ = nullptr;
  std::vector<double> joules_;
  Clock::time_point read_at_;
};

}  // namespace

Result<Burn> burn(Workload& workload, Communicator& ranks, double seconds,
                  std::optional<Burn>* unfinished) {
  const Result<BurnTarget*> target = workload.burn_target();
  if (const auto* const refusal = std::get_if<Unsupported>(&target)) return *refusal;
  return BurnLoop(*std::get<BurnTarget*>(target), workload, ranks, seconds).run(unfinished);
}

}  // namespace assay
