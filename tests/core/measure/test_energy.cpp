#include "core/measure/energy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_measure_energy {

using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// The count of a host's counter: the energy spent, and some watts at all times, shown in steps.
class Spent {
 public:
  explicit Spent(double update_s = 1e-3, double idle_watts = 1)
      : update_s_(update_s), idle_watts_(idle_watts) {}
  void spend(double joules) {
    const std::lock_guard lock(mutex_);
    joules_ += joules;
  }
  double joules() const {
    const std::lock_guard lock(mutex_);
    return joules_ + idle_watts_ * update_s_ * std::floor((now() - start_) / update_s_);
  }

 private:
  double update_s_, idle_watts_, joules_ = 0, start_ = now();
  mutable std::mutex mutex_;
};

class SpentMeter final : public EnergyMeter {
 public:
  explicit SpentMeter(const Spent& spent, std::vector<EnergyDomain> domains = {{"package-0"}})
      : EnergyMeter(std::move(domains)), spent_(spent) {}
  std::vector<double> read() const override {
    ++reads;
    if (fails) throw CaseError("the counter has gone");
    return std::vector<double>(domains().size(), frozen ? 0 : spent_.joules());
  }
  mutable int reads = 0;
  bool fails = false, frozen = false;

 private:
  const Spent& spent_;
};

constexpr double watts = 100;  // of a run
/// Of a host at all times: so little that a busy machine, where a run takes many times its seconds,
/// changes no energy by a part that a test would see.
constexpr double idle_watts = 0.01;

/// Runs of so many seconds. Other work takes more power.
class Spender : public testing_fakes::ScriptedWorkload {
 public:
  Spender(Spent& spent, EnergyMeter* meter, double run_s, double reset_s = 0)
      : ScriptedWorkload(nullptr, reset_s == 0),
        spent_(spent),
        meter_(meter),
        run_s_(run_s),
        reset_s_(reset_s) {}
  Stream& stream() override { return clock_; }
  Result<EnergyMeter*> energy_meter() override {
    if (meter_ == nullptr) return Unsupported{"nothing counts it"};
    return meter_;
  }
  void reset() override {
    if (reset_s_ == 0) return;
    pass(reset_s_);
    spent_.spend(8 * watts * reset_s_);
  }
  void run(Stream&) override {
    ++runs;
    pass(run_s_);
    spent_.spend(watts * run_s_);
  }
  void begin_audit(Audit kind) override {
    ScriptedWorkload::begin_audit(kind);
    spent_.spend(500);
  }

 protected:
  virtual void pass(double seconds) {
    for (const double end = now() + seconds; now() < end;) {
    }
  }

 private:
  Spent& spent_;
  EnergyMeter* meter_;
  double run_s_, reset_s_;
  HostStream clock_;
};

/// The energy of a run by the package, which must be known.
double joules_of(const Energy& energy) {
  EXPECT_EQ(energy.reason, "");
  EXPECT_EQ(energy.joules.size(), 1u);
  return energy.joules.empty() ? NAN : energy.joules.begin()->second;
}

Energy energy_of(Workload& workload, double max_time = 0.4) {
  const auto ranks = make_serial_communicator();
  return measure(workload, *ranks, {max_time, 0, 10, 10000}).energy;
}

/// The time between the runs of a busy machine, or the interval between two updates that a meter
/// finds there, may be too long for the energy to be known: it is tried again then, with a meter
/// that has found nothing yet. `check` looks at the workload that was measured.
template <class Meter = SpentMeter, class Check>
double known_joules_of_a_run(double run_s, double reset_s, const Check& check) {
  constexpr int most_tries = 20;
  for (int i = 1;; ++i) {
    Spent spent(1e-3, idle_watts);
    Meter meter(spent);
    Spender workload(spent, &meter, run_s, reset_s);
    const Energy energy = energy_of(workload);
    if (!energy.reason.empty() && i < most_tries) continue;
    check(workload);
    return joules_of(energy);
  }
}

template <class Meter = SpentMeter>
double known_joules_of_a_run(double run_s, double reset_s = 0) {
  return known_joules_of_a_run<Meter>(run_s, reset_s, [](const Spender&) {});
}

TEST(Energy, OfTimedRunsAlone) {
  const double joules = known_joules_of_a_run(
      3e-3, 0, [](const Spender& workload) { EXPECT_GE(workload.audits.size(), 4u); });
  EXPECT_NEAR(joules / 3e-3, watts, 2) << "and little for what is between the runs";
}

TEST(Energy, OfBatchesIsThatOfOneRun) {
  // Several runs between two marks.
  EXPECT_NEAR(known_joules_of_a_run(5e-6) / 5e-6, watts, 3);
}

TEST(Energy, OfFewSamplesIsThatOfMoreRuns) {
  constexpr double run_s = 1e-3;  // ten in a row are too short for counters that move so often
  for (int tries = 0; tries < 20; ++tries) {
    Spent spent(1e-3, idle_watts);
    SpentMeter meter(spent);
    Spender workload(spent, &meter, run_s);
    const auto ranks = make_serial_communicator();
    const Timing timing = measure(workload, *ranks, {0.1, 0.02, 3, 10});
    EXPECT_LE(timing.samples.size(), 10u);
    if (!timing.energy.reason.empty()) continue;  // on a busy machine
    EXPECT_NEAR(joules_of(timing.energy) / run_s, watts, 3);
    return;
  }
  FAIL() << "never known";
}

TEST(Energy, OfLongRunsLeavesOutWhatIsBetweenThem) {
  EXPECT_NEAR(known_joules_of_a_run(40e-3, 20e-3) / 40e-3, watts, 2);
}

TEST(Energy, OfShortRunsThatAreRefilledIsNotKnown) {
  Spent spent;
  SpentMeter meter(spent);
  Spender workload(spent, &meter, 2e-3, 8e-3);
  const Energy energy = energy_of(workload, 0.2);
  EXPECT_TRUE(energy.joules.empty());
  EXPECT_EQ(energy.reason,
            "what is done between the runs (such as refilling tensors) takes more than 5 % of the "
            "time between two readings of the energy counters");
}

/// An interval of at least so many seconds; `part` of them is told to be that of timed runs.
void interval(EnergyCount& count, double seconds, double runs, double part = 1) {
  const double start = now();
  count.begin();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  count.end(runs, part * (now() - start));
}

TEST(Energy, OfFewUpdatesIsNotKnown) {
  const auto ranks = make_serial_communicator();
  Spent spent(20e-3);
  SpentMeter meter(spent);
  Spender workload(spent, &meter, 1e-3);
  EnergyCount count(workload, *ranks);
  EXPECT_FALSE(count.resolves(0.3));
  EXPECT_TRUE(count.resolves(9));
  for (int i = 0; i < 4; ++i) interval(count, 0.1, 10);  // together they would be long enough
  const Energy energy = count.compute();
  EXPECT_TRUE(energy.joules.empty());
  EXPECT_SAYS(
      energy.reason,
      "s of runs followed each other (20 updates of the energy counters). Take more samples "
      "(--min-samples, --max-time)");
}

TEST(Energy, OfManyUpdatesIsThatOfAllLongIntervals) {
  const auto ranks = make_serial_communicator();
  Spent spent;
  SpentMeter meter(spent);
  Spender workload(spent, &meter, 1e-3);
  EnergyCount count(workload, *ranks);
  const double update = meter.update_s();
  for (const double part : {1.0, 0.99, 0.93, 1.0}) interval(count, 30 * update, 10, part);
  count.begin();
  spent.spend(500);  // too short to count
  count.end(10, 1e-9);
  count.begin();
  spent.spend(500);
  interval(count, 30 * update, 0);  // nothing ran in it
  EXPECT_NEAR(joules_of(count.compute()) * 10, 30 * update, 20 * update) << "a watt";
}

TEST(Energy, OfIntervalsThatRunsDoNotFillIsNotKnown) {
  const auto ranks = make_serial_communicator();
  Spent spent;
  SpentMeter meter(spent);
  Spender workload(spent, &meter, 1e-3);
  EnergyCount count(workload, *ranks);
  for (const double part : {1.0, 0.8}) interval(count, 0.1, 10, part);
  EXPECT_SAYS(count.compute().reason, "what is done between the runs");
}

TEST(Energy, WithoutACounterHasItsReason) {
  Spent spent;
  Spender workload(spent, nullptr, 3e-3);
  EXPECT_EQ(energy_of(workload).reason, "nothing counts it");
  testing_fakes::ScriptedWorkload deviceless([](int) { return 1e-3; });
  EXPECT_EQ(energy_of(deviceless).reason, "the workload has no device with energy counters");
}

TEST(Energy, OfACounterThatGoesAwayOrStandsStillIsNotKnown) {
  for (const bool fails : {true, false}) {
    Spent spent;
    SpentMeter meter(spent);
    meter.update_s();
    (fails ? meter.fails : meter.frozen) = true;
    Spender workload(spent, &meter, 3e-3);
    const Energy energy = energy_of(workload);
    EXPECT_TRUE(energy.joules.empty());
    EXPECT_EQ(energy.reason,
              fails ? "the counter has gone" : "the energy counter of package-0 does not move");
    EXPECT_GE(workload.runs, 10) << "it is timed all the same";
  }
}

TEST(Energy, IsReadOutsideOfTheTimedRegion) {
  class Slow final : public EnergyMeter {
   public:
    explicit Slow(const Spent& spent) : EnergyMeter({{"package-0"}}), spent_(spent) {
      update_s();
      slow = true;
    }
    std::vector<double> read() const override {
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return {spent_.joules()};
    }
    bool slow = false;

   private:
    const Spent& spent_;
  };
  for (const double run_s : {3e-3, 40e-3}) {  // together, and each by itself
    EXPECT_NEAR(known_joules_of_a_run<Slow>(run_s) / run_s, watts, 5);
    Spent spent;
    Slow meter(spent);
    Spender workload(spent, &meter, run_s);
    const auto ranks = make_serial_communicator();
    const Timing timing = measure(workload, *ranks, {0.4, 0, 10, 100});
    // Else a reading would be in each sample.
    EXPECT_LT(*std::min_element(timing.samples.begin(), timing.samples.end()), run_s + 0.03);
  }
}

TEST(Energy, OfAJobIsThatOfItsHosts) {
  // Two ranks on one host and one on another.
  Spent hosts[2];
  std::vector<int> reads(3);
  std::vector<Energy> energies(3);
  testing_fakes::on_threads(
      3,
      [&](Communicator& ranks) {
        const auto rank = static_cast<std::size_t>(ranks.rank());
        Spent& spent = hosts[ranks.node()];
        SpentMeter meter(spent);
        Spender workload(spent, &meter, 1e-3);
        EnergyCount count(workload, ranks);
        ranks.barrier();
        const double start = now();
        count.begin();
        ranks.barrier();
        spent.spend(20);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        ranks.barrier();
        count.end(10, now() - start);
        energies[rank] = count.compute();
        reads[rank] = meter.reads;
      },
      2);
  // 6 J a run, and what idle hosts take.
  for (const Energy& energy : energies) EXPECT_NEAR(joules_of(energy), 6, 0.5);
  EXPECT_GT(reads[0], 0);
  EXPECT_EQ(reads[1], 0) << "the host's counter is read by its first rank";
  EXPECT_GT(reads[2], 0);
}

TEST(Energy, OfAJobWithAHostThatCountsOtherThingsIsNotKnown) {
  for (const bool absent : {true, false}) {
    Spent hosts[2];
    testing_fakes::on_threads(
        2,
        [&](Communicator& ranks) {
          std::vector<EnergyDomain> domains = {{"package-0"}};
          if (ranks.rank() == 1) domains.push_back({"package-0/dram"});
          Spent& spent = hosts[ranks.node()];
          SpentMeter meter(spent, domains);
          Spender workload(spent, absent && ranks.rank() == 1 ? nullptr : &meter, 1e-3);
          EnergyCount count(workload, ranks);
          interval(count, 0.1, 10);
          const Energy energy = count.compute();
          EXPECT_TRUE(energy.joules.empty());
          EXPECT_EQ(energy.reason, absent ? "on threads1: nothing counts it"
                                          : "threads1 has other energy counters than threads0");
        },
        1);
  }
}

TEST(Energy, OfSeveralRanksIsMeasuredWithTheirTimes) {
  Spent host;
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    SpentMeter meter(host);
    Spender workload(host, &meter, 2e-3);
    const Timing timing = measure(workload, ranks, {0.2, 0, 10, 50});
    EXPECT_GE(timing.samples.size(), 10u);
    // The load of the processors decides if it is known.
    if (timing.energy.reason.empty())
      EXPECT_GT(joules_of(timing.energy), 3 * watts * 2e-3);
    else
      EXPECT_TRUE(timing.energy.joules.empty());
  });
}

}  // namespace test_measure_energy
}  // namespace assay
