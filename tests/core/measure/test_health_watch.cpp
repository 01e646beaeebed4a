// Errors that a device counts while a case is measured.

#include "core/measure/health_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/run_case.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_health_watch {

using nlohmann::json;

/// Runs of 30 us on a device whose health is written in a script.
class Counting : public testing_fakes::ScriptedWorkload {
 public:
  using Script = std::function<std::optional<DeviceHealth>(int reading)>;
  explicit Counting(Script script)
      : ScriptedWorkload([](int) { return 30e-6; }), script_(std::move(script)) {}
  std::optional<DeviceHealth> device_health() override { return script_(readings_++); }
  Verification verify_before() override { return right(); }
  Verification verify_after() override { return right(); }

 private:
  static Verification right() {
    Verification verification;
    verification.passed = true;
    return verification;
  }

  Script script_;
  int readings_ = 0;
};

Outcome run(const Counting::Script& script, Communicator& ranks) {
  return run_case([&] { return std::make_unique<Counting>(script); }, ranks, {}, {});
}

json measured(const Counting::Script& script) {
  return run(script, *make_serial_communicator()).device_health;
}

std::string failure(const Counting::Script& script) {
  const Outcome outcome = run(script, *make_serial_communicator());
  EXPECT_EQ(outcome.status, outcome.reason.empty() ? "ok" : "failed");
  return outcome.reason;
}

TEST(HealthWatch, TellsCountersAndWhatWasCorrectedMeanwhile) {
  const json list = measured([](int reading) {
    return DeviceHealth{.device = "GPU 3",
                        .values = {{"pcie_width", 16}},
                        .errors = {{"ecc uncorrected dram", 4}},
                        .corrected = {{"ecc corrected dram", 5.0 + reading}, {"replays", 2}}};
  });
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0], json({{"device", "GPU 3"},
                           {"values", {{"pcie_width", 16.0}}},
                           {"errors", {{"ecc uncorrected dram", 4.0}}},
                           {"corrected", {{"ecc corrected dram", 6.0}, {"replays", 2.0}}},
                           {"corrected_meanwhile", {{"ecc corrected dram", 1.0}}}}));
}

TEST(HealthWatch, AnErrorThatRisesOrAppearsFailsTheCase) {
  EXPECT_NE(failure([](int reading) {
              return DeviceHealth{.device = "GPU 3", .errors = {{"xid 48", 2.0 * reading}}};
            }).find("GPU 3 counted errors while this was measured: xid 48 (+2)"),
            std::string::npos);
  EXPECT_NE(failure([](int reading) {
              DeviceHealth health{.device = "cpu", .errors = {{"memory uncorrected mc0", 1}}};
              if (reading > 0) health.errors["memory uncorrected mc0 DIMM_A1"] = 1;
              return health;
            }).find("DIMM_A1 (+1)"),
            std::string::npos);
}

TEST(HealthWatch, ACounterThatWentBackHasCountedWhatItShows) {
  const auto falls_to = [](double last) {
    return [last](int reading) {
      return DeviceHealth{.device = "GPU 3", .errors = {{"ecc", reading == 0 ? 9 : last}}};
    };
  };
  EXPECT_NE(failure(falls_to(2)).find("ecc (+2)"), std::string::npos);
  EXPECT_EQ(failure(falls_to(0)), "");
}

TEST(HealthWatch, ALostDeviceFailsTheCase) {
  EXPECT_EQ(failure([](int reading) {
              return DeviceHealth{.device = "GPU 3", .lost = reading > 0 ? "xid 79" : ""};
            }),
            "GPU 3 was lost: xid 79");
}

TEST(HealthWatch, ADeviceThatTellsNothingHasNoHealth) {
  EXPECT_TRUE(measured([](int) { return std::nullopt; }).empty());
  EXPECT_TRUE(
      measured([](int) -> std::optional<DeviceHealth> { throw CaseError("no answer"); }).empty());
}

TEST(HealthWatch, ADeviceThatFallsSilentFailsTheCase) {
  EXPECT_EQ(failure([](int reading) {
              return reading > 0 ? std::nullopt : std::optional(DeviceHealth{.device = "GPU 3"});
            }),
            "GPU 3 does not tell its errors any more");
  EXPECT_NE(failure([](int reading) {
              DeviceHealth health{.device = "GPU 3", .errors = {{"xid 48", 0}}};
              if (reading == 0) health.errors["ecc"] = 0;
              return health;
            }).find("ecc (no longer told)"),
            std::string::npos);
}

TEST(HealthWatch, EveryDeviceOfTheRanksIsToldOnce) {
  std::mutex guard;
  std::vector<json> lists;
  testing_fakes::on_threads(4, [&](Communicator& ranks) {
    const std::string device = ranks.rank() < 2 ? "cpu" : "GPU " + std::to_string(ranks.rank());
    const Outcome outcome = run(
        [&](int) {
          return DeviceHealth{.device = device, .values = {{"rank", ranks.rank()}}};
        },
        ranks);
    const std::lock_guard lock(guard);
    lists.push_back(outcome.device_health);
  });
  for (const json& list : lists) {
    ASSERT_EQ(list.size(), 3U) << list;
    EXPECT_EQ(list[1]["device"], "GPU 2");
    EXPECT_EQ(list[2]["values"]["rank"], 3);
  }
}

TEST(HealthWatch, OfSeveralRanksTheOneWithErrorsIsNamedOnAll) {
  std::atomic<int> named{0};
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const bool bad = ranks.rank() == 1;
    const Outcome outcome = run(
        [&](int reading) {
          return DeviceHealth{.device = "GPU 3", .errors = {{"ecc", bad ? 1.0 * reading : 0}}};
        },
        ranks);
    named += outcome.status == "failed" && outcome.reason.find("rank 1") != std::string::npos;
  });
  EXPECT_EQ(named, 3);
}

}  // namespace test_health_watch
}  // namespace assay
