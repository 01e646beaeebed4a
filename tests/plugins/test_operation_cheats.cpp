// No backend that leaves work out of its timed runs gets an ok row, of operations other than
// convolutions: what proves them on a GPU is code of its own for each.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>

#include "core/measure/run_case.hpp"
#include "core/program/suite.hpp"
#include "kernels/dropout/benchmark.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/loss/benchmark.hpp"
#include "kernels/norm/benchmark.hpp"
#include "kernels/pool/benchmark.hpp"
#include "kernels/stream/benchmark.hpp"
#include "kernels/update/benchmark.hpp"
#include "tests/plugins/cheats_on.hpp"

namespace assay {
namespace {

using Flags = std::map<std::string, std::vector<std::string>>;

class OperationCheats : public testing::Test {
 protected:
  OperationCheats() { omp_set_num_threads(1); }

  Outcome run(const OperationBenchmark& benchmark, const std::string& cheat, int seed,
              Flags flags) {
    setenv("ASSAY_CHEAT", cheat.c_str(), 1);
    Plugins plugins({TEST_PLUGINS, BUILT_PLUGINS});
    CaseContext context{plugins, *ranks_, static_cast<std::uint64_t>(seed)};
    TimingOptions timing;
    timing.max_time = cheats_on_gpu() ? 0.01 : 0.002;
    flags.insert({{"device", {cheats_device()}}, {"threads", {"1"}}});
    Settings settings = expand(benchmark, flags, plugins).at(0).settings;
    settings["backend"] = "cheating";
    const Case selected = make_case(benchmark, settings);
    return run_case([&] { return benchmark.prepare(selected, context); }, *ranks_, timing);
  }

  void expect_found(const OperationBenchmark& benchmark, const std::string& problem,
                    Flags flags = {}) {
    flags["problem"] = {problem};
    const Outcome honest = run(benchmark, "", 1, flags);
    EXPECT_EQ(honest.status, "ok") << problem << ": " << honest.reason;
    for (const char* cheat :
         {"run_only_on_poison", "every_second_run", "one_percent", "late_element"})
      for (int seed = 1; seed <= cheat_trials(5); ++seed) {
        const Outcome found = run(benchmark, cheat, seed, flags);
        EXPECT_EQ(found.status, "incorrect") << cheat << " " << problem << ": " << found.reason;
        EXPECT_FALSE(found.timing) << cheat << " " << problem;
      }
  }

  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
};

TEST_F(OperationCheats, InNormalizations) {
  for (const char* direction : {"forward_training", "backward"})
    for (const char* fusion : {"none", "add_relu"})
      expect_found(norm_benchmark(), "mb3ic8ih7",
                   {{"direction", {direction}}, {"fusion", {fusion}}});
}

TEST_F(OperationCheats, InPools) {
  for (const char* direction : {"forward_training", "backward"})
    for (const char* mode : {"max", "average"})
      expect_found(pool_benchmark(), "mb2ic8ih12kh3sh2ph1",
                   {{"direction", {direction}}, {"mode", {mode}}});
}

TEST_F(OperationCheats, InLosses) {
  for (const char* direction : {"training", "validation"})
    expect_found(loss_benchmark(), "mb40c24", {{"direction", {direction}}});
}

TEST_F(OperationCheats, InUpdates) {
  for (const char* problem : {"sgd_n900t3", "adam_n900t3", "lars_n900t3"})
    expect_found(update_benchmark(), problem);
}

TEST_F(OperationCheats, InDropouts) {
  for (const char* direction : {"forward", "backward"})
    expect_found(dropout_benchmark(), "mb2ic8ih6p0.3", {{"direction", {direction}}});
}

TEST_F(OperationCheats, InKernelsOfDataAnalysis) {
  for (const char* problem :
       {"moments:n600d12", "kmeans_assign:n600d12k3", "hinge:n600d12", "hinge_hessian:n600d12"})
    expect_found(linalg_benchmark(), problem);
}

TEST_F(OperationCheats, InStreams) {
  for (const char* problem : {"copy_n4003", "scale_n4003", "add_n4003", "triad_n4003"})
    expect_found(stream_benchmark(), problem);
}

}  // namespace
}  // namespace assay
