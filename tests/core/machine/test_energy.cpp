#include "core/machine/energy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/base/error.hpp"
#include "tests/core/fake_powercap.hpp"

namespace assay {
namespace test_machine_energy {

using testing_fakes::FakePowercap;

std::unique_ptr<EnergyMeter> meter_of(const FakePowercap& tree) {
  Result<std::unique_ptr<EnergyMeter>> made = open_package_energy(tree.root());
  if (const auto* const refusal = std::get_if<Unsupported>(&made)) {
    ADD_FAILURE() << refusal->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<EnergyMeter>>(made));
}

std::string refusal_of(const std::filesystem::path& root) {
  const Result<std::unique_ptr<EnergyMeter>> made = open_package_energy(root);
  const auto* const refusal = std::get_if<Unsupported>(&made);
  return refusal == nullptr ? "accepted" : refusal->reason;
}

std::vector<std::string> names_of(const EnergyMeter& meter) {
  std::vector<std::string> names;
  for (const EnergyDomain& domain : meter.domains()) names.push_back(domain.name);
  return names;
}

/// The message of `body` when it gives up.
std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const CaseError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(PackageEnergy, OnePackageIsOneDomain) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0", 1500000);
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  EXPECT_EQ(names_of(*meter), std::vector<std::string>{"package-0"});
  EXPECT_DOUBLE_EQ(meter->domains()[0].range_j, 262143.328850);
  EXPECT_EQ(meter->read(), std::vector<double>{1.5});
  tree.set("intel-rapl:0", 2500000);
  EXPECT_EQ(meter->read(), std::vector<double>{2.5});
}

TEST(PackageEnergy, NothingIsCountedTwice) {
  FakePowercap tree;
  // Twelve packages, so that the order of numbers is not that of texts.
  for (int package = 0; package < 12; ++package)
    tree.add("intel-rapl:" + std::to_string(package), "package-" + std::to_string(package),
             1000000);
  tree.add("intel-rapl:1:0", "core", 7000000);
  tree.add("intel-rapl:1:1", "uncore", 7000000);
  tree.add("intel-rapl:1:2", "dram", 250000, 65712999613);
  tree.add("intel-rapl:12", "psys", 7000000);           // holds the packages
  tree.add("intel-rapl-mmio:0", "package-0", 7000000);  // another way to the same counter
  tree.add("dtpm:0", "package-0", 7000000);
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  EXPECT_EQ(names_of(*meter), (std::vector<std::string>{
                                  "package-0", "package-1", "package-1/dram", "package-2",
                                  "package-3", "package-4", "package-5", "package-6", "package-7",
                                  "package-8", "package-9", "package-10", "package-11"}));
  double sum = 0;
  for (const double joules : meter->read()) sum += joules;
  EXPECT_DOUBLE_EQ(sum, 12.25);
  EXPECT_DOUBLE_EQ(meter->domains()[2].range_j, 65712.999613);
}

TEST(PackageEnergy, DiesOfOnePackageAreDomains) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0-die-0");
  tree.add("intel-rapl:1", "package-0-die-1");
  tree.add("intel-rapl:1:0", "dram");
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  EXPECT_EQ(names_of(*meter), (std::vector<std::string>{"package-0-die-0", "package-0-die-1",
                                                        "package-0-die-1/dram"}));
}

TEST(PackageEnergy, WhatIsNotThereHasAReason) {
  FakePowercap tree;
  EXPECT_SAYS(refusal_of(tree.root()), "no energy counter of a processor package in ");
  EXPECT_SAYS(refusal_of(tree.root() / "nowhere"), "no energy counter of a processor package in ");
  tree.add("intel-rapl:0", "psys");
  EXPECT_SAYS(refusal_of(tree.root()), "no energy counter of a processor package in ");
  tree.add("intel-rapl:1", "package-0");
  std::filesystem::remove(tree.root() / "intel-rapl:1" / "max_energy_range_uj");
  EXPECT_SAYS(refusal_of(tree.root()), "max_energy_range_uj cannot be read (No such file");
}

TEST(PackageEnergy, WhatIsNoNumberIsNoEnergy) {
  for (const char* text : {"", "what", "1.5", "-1", "12 34", "99999999999999999999999"}) {
    FakePowercap tree;
    tree.add("intel-rapl:0", "package-0");
    std::ofstream(tree.counter("intel-rapl:0")) << text;
    EXPECT_SAYS(refusal_of(tree.root()), "expected a number of microjoules") << text;
  }
}

TEST(PackageEnergy, CountersOfRootHaveAReasonForOthers) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0");
  std::filesystem::permissions(tree.root(), std::filesystem::perms(0755));
  std::filesystem::permissions(tree.counter("intel-rapl:0"), std::filesystem::perms(0));
  const uid_t user = geteuid();
  const bool root = user == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  const std::string said = refusal_of(tree.root());
  ASSERT_TRUE(!root || seteuid(user) == 0);
  EXPECT_SAYS(said, "energy_uj cannot be read (Permission denied). Since Linux 5.10 only root");
}

TEST(PackageEnergy, ACounterThatGoesAwayIsAnError) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0");
  tree.add("intel-rapl:1", "package-1");
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  std::filesystem::remove_all(tree.root() / "intel-rapl:1");
  EXPECT_SAYS(failure_of([&] { meter->read(); }), "intel-rapl:1/energy_uj cannot be read (No such");
}

TEST(EnergyMeter, ACounterThatDoesNotMoveIsNamed) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0", 5000000);
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  EXPECT_EQ(failure_of([&] { meter->update_s(); }),
            "the energy counter of package-0 does not move");
}

TEST(EnergyMeter, FindsOutHowOftenTheSlowestCounterIsUpdated) {
  FakePowercap tree;
  tree.add("intel-rapl:0", "package-0");
  tree.add("intel-rapl:0:0", "dram");
  const auto meter = meter_of(tree);
  ASSERT_TRUE(meter);
  std::atomic<bool> over{false};
  std::thread kernel([&] {
    for (std::uint64_t i = 1; !over; ++i) {
      tree.set("intel-rapl:0", 1000 * i);
      if (i % 10 == 0) tree.set("intel-rapl:0:0", 1000 * i);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const double update = meter->update_s();
  over = true;
  kernel.join();
  EXPECT_GT(update, 0.015) << "that of dram: 20 ms or more";
  EXPECT_EQ(meter->update_s(), update) << "measured once";
}

TEST(JoulesBetween, TwoReadingsOfACounter) {
  const EnergyDomain package{"package-0", 262143.328850};
  EXPECT_DOUBLE_EQ(joules_between(package, 10, 12.5, 0.1), 2.5);
  EXPECT_DOUBLE_EQ(joules_between(package, 10, 10, 0.1), 0);
}

TEST(JoulesBetween, ACounterThatBeginsAtZeroAgain) {
  const EnergyDomain package{"package-0", 262143.328850};
  EXPECT_NEAR(joules_between(package, 262143, 1.5, 0.1), 1.828850, 1e-9);
}

TEST(JoulesBetween, WhatCannotBeKnownIsAnError) {
  const EnergyDomain package{"package-0", 262143.328850}, gpu{"gpu 0"};
  EXPECT_SAYS(failure_of([&] { joules_between(package, 10, 12, 300); }), "more than once in 300 s");
  EXPECT_SAYS(failure_of([&] { joules_between(package, 5000, 5, 0.1); }), "it was set back");
  EXPECT_SAYS(failure_of([&] { joules_between(gpu, 5000, 5, 0.1); }), "of gpu 0 went back");
  EXPECT_DOUBLE_EQ(joules_between(gpu, 5000, 5100, 1e6), 100) << "it never begins at 0 again";
  EXPECT_SAYS(failure_of([&] { joules_between(gpu, 0, 1e6, 10); }), "it was set back");
}

TEST(JoulesBetween, AGpuMayTakeMoreThanAProcessor) {
  const EnergyDomain package{"package-0", 262143.328850}, gpu{"gpu 0"};
  EXPECT_DOUBLE_EQ(joules_between(gpu, 0, 14000, 10), 14000);
  EXPECT_SAYS(failure_of([&] { joules_between(package, 0, 14000, 10); }), "which cannot be");
}

}  // namespace test_machine_energy
}  // namespace assay
