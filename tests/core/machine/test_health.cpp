// Health of a host, from files as Linux writes them.

#include "core/machine/health.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "result_fixture.hpp"

namespace assay {
namespace test_health {

class HostHealth : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root() const { return folder_.path().string(); }

 private:
  fixture::Folder folder_;
};

TEST_F(HostHealth, ErrorsOfMemoryHaveTheirControllerAndModule) {
  const std::string controller = "sys/devices/system/edac/mc/mc0/";
  write(controller + "ce_count", "7\n");  // of all modules together
  write(controller + "ce_noinfo_count", "0\n");
  write(controller + "ue_noinfo_count", "0\n");
  write(controller + "dimm0/dimm_label", "CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n");
  write(controller + "dimm0/dimm_ce_count", "7\n");
  write(controller + "dimm0/dimm_ue_count", "1\n");
  write(controller + "dimm1/dimm_ce_count", "0\n");
  const auto health = host_health(root());
  ASSERT_TRUE(health);
  EXPECT_EQ(health->device, "cpu");
  EXPECT_EQ(health->errors, (std::map<std::string, double>{
                                {"memory uncorrected mc0", 0},
                                {"memory uncorrected mc0 CPU_SrcID#0_MC#0_Chan#1_DIMM#0", 1}}));
  EXPECT_EQ(health->corrected.size(), 2U) << "a module without errors is not listed";
  EXPECT_EQ(health->values.at("memory_modules"), 2);
}

TEST_F(HostHealth, MachineChecksAreOfAllProcessors) {
  write("proc/interrupts",
        "           CPU0       CPU1\n  0:         40          0   IO-APIC   2-edge      timer\n"
        "MCE:          0          3   Machine check exceptions\n"
        "MCP:         12         12   Machine check polls\n");
  EXPECT_EQ(host_health(root())->errors.at("machine checks"), 3);
}

TEST_F(HostHealth, ClocksAndThrottlingAreOfAllProcessors) {
  for (const char* number : {"0", "1"}) {
    const std::string folder = std::string("sys/devices/system/cpu/cpu") + number + "/";
    write(folder + "cpufreq/scaling_cur_freq", std::string(number) + "800000\n");
    write(folder + "topology/core_id", std::string(number) + "\n");
    write(folder + "topology/physical_package_id", "0\n");
    write(folder + "thermal_throttle/core_throttle_count", "2\n");
    write(folder + "thermal_throttle/package_throttle_count", "3\n");
  }
  const auto values = host_health(root())->values;
  EXPECT_EQ(values.at("clock_hz_least"), 0.8e9);
  EXPECT_EQ(values.at("clock_hz_greatest"), 1.8e9);
  EXPECT_EQ(values.at("throttle_events_core"), 4);
  EXPECT_EQ(values.at("throttle_events_package"), 3) << "both tell of one package";
}

TEST_F(HostHealth, AHostThatCountsNothingTellsNothing) { EXPECT_FALSE(host_health(root())); }

}  // namespace test_health
}  // namespace assay
