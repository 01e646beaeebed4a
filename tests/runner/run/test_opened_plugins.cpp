// The plugins that a run could open: tried when it is planned, and told by its earlier processes.
#include "runner/run/benchmark_processes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/test_paths.hpp"

namespace assay {
namespace test_opened_plugins {

using nlohmann::json;
using Names = std::set<std::string>;

PlannedBenchmark benchmark(Names plugins, std::vector<std::string> launcher = {}) {
  PlannedBenchmark planned;
  planned.name = "conv";
  planned.launcher = std::move(launcher);
  planned.plugins = std::move(plugins);
  return planned;
}

const std::filesystem::path programs = std::filesystem::path(ASSAY_BUILD_DIR) / "bin";

TEST(OpenedPlugins, ArePartOfThosePlanned) {
  EXPECT_EQ(find_usable_plugins({benchmark({"reference", "nobody"})}, programs, {}),
            Names{"reference"});
}

TEST(OpenedPlugins, AreNotTriedHereUnderALauncher) {
  RunRecord earlier;
  ResultEnvironment& environment = earlier.processes.emplace_back().environment;
  environment.software = {{"libraries", {{"onednn", json::object()}}}};
  EXPECT_EQ(
      find_usable_plugins({benchmark({"reference", "onednn"}, {"mpirun"})}, programs, earlier),
      Names{"onednn"});
}

}  // namespace test_opened_plugins
}  // namespace assay
