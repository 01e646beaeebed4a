// A plugin that aborts or hangs while it starts costs its own line.
#include "runner/supervision/plugin_probe.hpp"

#include <gtest/gtest.h>

#include "assay/test_paths.hpp"

namespace assay {
namespace test_plugin_probe {

PluginProbe probed(const std::string& name, std::chrono::milliseconds limit) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "tests" / ("plugins-" + name)});
  return probe_plugin(plugins, name, limit);
}

TEST(PluginProbe, OneThatHangsIsKilledAfterTheLimit) {
  const PluginProbe probe = probed("hanging", std::chrono::milliseconds(500));
  EXPECT_FALSE(probe.status.available);
  EXPECT_EQ(probe.status.reason, "did not start within 0.5 s");
}

TEST(PluginProbe, OneThatAbortsNamesTheSignal) {
  const PluginProbe probe = probed("aborting", plugin_start_limit);
  EXPECT_FALSE(probe.status.available);
  EXPECT_NE(probe.status.reason.find("by signal 6"), std::string::npos) << probe.status.reason;
}

TEST(PluginProbe, OneThatWorksTellsItsSoftware) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const PluginProbe probe = probe_plugin(plugins, "reference");
  EXPECT_TRUE(probe.status.available) << probe.status.reason;
  EXPECT_EQ(probe.software, std::get<Backend*>(plugins.open("reference"))->software());
}

}  // namespace test_plugin_probe
}  // namespace assay
