// The command that measures a row again.
#include <gtest/gtest.h>

#include "analysis/repeat_command.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace test_repeat_command {

using nlohmann::json;

struct RepeatCommand : testing::Test {
  json run = test::result({})["run"];
  ResultEnvironment environment{};
  json row = test::row("ok", 1e-3);
  std::size_t launches = 1;

  RepeatCommand() {
    run["launcher"] = json::array();
    run["max_time"] = 0.5;
  }
  std::string command() const {
    return make_repeat_command(run.get<RunHeader>(), environment, row.get<Row>(), launches);
  }
};

TEST_F(RepeatCommand, IsMadeOfWordsOfAShell) {
  EXPECT_EQ(command(),
            "assay-conv --problem mb1ic8ih8oc8oh8kh3ph1 --algorithm direct --backend onednn "
            "--cache hot --direction forward --precision fp32 --threads 2 --seed 1 --max-time 0.5");
  row["problem"]["descriptor"] = "$(rm -rf ~)'";
  row["id"] = "conv/$(rm -rf ~)'/hot";
  EXPECT_NE(command().find("--problem '$(rm -rf ~)'\\''' "), std::string::npos);
  row["parameters"]["ranks"] = 4;
  EXPECT_TRUE(command().starts_with("mpirun -n 4 assay-conv "));
  run["launcher"] = {"srun", "-n", "4"};
  EXPECT_TRUE(command().starts_with("srun -n 4 assay-conv "));
  // A collective has a size and no problem: the id does not hold one.
  row["benchmark"] = "collectives";
  row["id"] = "collectives/allreduce/b4096";
  row["problem"]["descriptor"] = "allreduce fp32 4096";
  row["parameters"] = {
      {"collective", "allreduce"}, {"bytes", 4096}, {"inside", "same"}, {"ranks", 4}, {"nodes", 1}};
  EXPECT_EQ(command(),
            "srun -n 4 assay-collectives --bytes 4096 --collective allreduce --intra-node same "
            "--seed 1 "
            "--max-time 0.5");
  row["published"] = true;
  EXPECT_EQ(command(), "");
}

TEST_F(RepeatCommand, HasTheTimingAndTheLaunches) {
  run.update({{"precision_target", 0.02}, {"min_samples", 40}, {"reference_budget", 1e6}});
  launches = 5;
  EXPECT_TRUE(command().ends_with(
      "--seed 1 --max-time 0.5 --precision-target 0.02 --min-samples 40 --reference-budget "
      "1000000 --launches 5"))
      << command();
  row["parameters"]["ranks"] = 2;
  EXPECT_EQ(command().find("--launches"), std::string::npos) << "each process would start its own";
  // A program alone has no settings of `assay run`.
  json alone = {{"id", "x"}, {"seed", 3}, {"max_time", 0.25}};
  run = alone;
  EXPECT_NE(command().find("--seed 3 --max-time 0.25"), std::string::npos) << command();
}

TEST_F(RepeatCommand, HasTheSettingsOfTheEnvironmentThatCount) {
  environment.software = {{"switches",
                           {{"OMP_PLACES", "{0},{1}"},
                            {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                            {"SLURM_HINT", "nomultithread"},
                            {"LD_PRELOAD", "/evil.so"},
                            {"NCCL_NET_PLUGIN", "/tmp/evil.so"},
                            {"LD_AUDIT", "evil.so"},
                            {"BASH_ENV", "evil.sh"},
                            {"OMPI_MCA_orte_launch_agent", "evil"},
                            {"-S touch", "x"}}}};
  EXPECT_TRUE(command().starts_with("env 'OMP_PLACES={0},{1}' ONEDNN_MAX_CPU_ISA=AVX2 assay-conv "))
      << command();
  EXPECT_EQ(command().find("evil"), std::string::npos) << "a result does not choose what is loaded";
  row["parameters"]["allocator"] = "jemalloc";
  environment.software = {{"switches", {{"LD_PRELOAD", "/x/evil.so:/usr/lib/libjemalloc.so.1"}}}};
  EXPECT_TRUE(command().starts_with("env LD_PRELOAD=libjemalloc.so.1 assay-conv ")) << command();
  EXPECT_NE(command().find("--allocator jemalloc"), std::string::npos);
  environment.software = {};
  EXPECT_TRUE(command().starts_with("env LD_PRELOAD=libjemalloc.so.2 assay-conv ")) << command();
}

}  // namespace test_repeat_command
}  // namespace assay
