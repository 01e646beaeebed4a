// No backend that leaves work out of its timed runs gets an ok row.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>

#include "core/measure/run_case.hpp"
#include "kernels/conv/benchmark.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace {

const char* const small = "mb2ic16ih8oc16kh3ph1";
const char* const large = "mb4ic32ih28oc32kh3ph1";

class Cheats : public testing::Test {
 protected:
  Cheats() { omp_set_num_threads(1); }  // the cases are small, and there are many

  Outcome run(const std::string& cheat, const std::string& algorithm, const std::string& direction,
              const std::string& problem, std::uint64_t seed, const std::string& cache = "hot") {
    setenv("ASSAY_CHEAT", cheat.c_str(), 1);
    CaseContext context{plugins_, *ranks_, seed, 1e5};  // a sample of a part of the outputs
    TimingOptions timing;
    timing.max_time = 0.002;
    const Settings settings{
        {"backend", "cheating"}, {"algorithm", algorithm}, {"direction", direction},
        {"problem", problem},    {"precision", "fp32"},    {"cache", cache},
        {"layout", "any"},       {"device", "cpu"},        {"threads", "1"}};
    return run_case(
        [&] {
          return benchmark_.prepare(Case{"id", settings, {}, false}, context);
        },
        *ranks_, timing);
  }

  /// All of `trials` runs must be found out; `reason`: a word of what is then said.
  void expect_found(const std::string& cheat, const std::string& algorithm,
                    const std::string& problem, int trials, const std::string& status = "incorrect",
                    const std::string& cache = "hot") {
    for (const char* direction : {"forward", "bwd_data", "bwd_weights"}) {
      // native has no Winograd algorithm of this direction.
      if (algorithm == "winograd" && direction == std::string("bwd_weights")) continue;
      for (int trial = 1; trial <= trials; ++trial) {
        const Outcome outcome =
            run(cheat, algorithm, direction, problem, static_cast<std::uint64_t>(trial), cache);
        ASSERT_EQ(outcome.status, status)
            << cheat << " " << algorithm << " " << direction << " " << problem << " trial " << trial
            << ": " << outcome.reason;
        EXPECT_FALSE(outcome.timing);
      }
    }
  }

  const OperationBenchmark& benchmark_ = conv_benchmark();
  Plugins plugins_{std::vector<std::filesystem::path>{TEST_PLUGINS, BUILT_PLUGINS}};
  std::unique_ptr<Communicator> ranks_ = serial_communicator();
};

TEST_F(Cheats, HonestRunsAreOk) {
  for (const char* algorithm : {"implicit_gemm", "winograd"})
    for (const char* direction : {"forward", "bwd_data"})
      for (const char* problem : {small, large}) {
        const Outcome outcome = run("", algorithm, direction, problem, 1);
        EXPECT_EQ(outcome.status, "ok") << outcome.reason;
        EXPECT_NE(outcome.verification->reference.find("timed runs checked"), std::string::npos)
            << outcome.verification->reference;
      }
}

TEST_F(Cheats, TimedRunsThatComputeNothing) {
  for (const char* problem : {small, large}) {
    expect_found("run_only_on_poison", "implicit_gemm", problem, 20);
    expect_found("every_second_run", "implicit_gemm", problem, 20);
    expect_found("one_percent", "implicit_gemm", problem, 20);
  }
  expect_found("run_only_on_poison", "winograd", large, 20);
  expect_found("every_second_run", "winograd", large, 20);
}

TEST_F(Cheats, TransformedWeightsThatAreKept) {
  for (const char* algorithm : {"implicit_gemm", "winograd"})
    for (const char* problem : {small, large}) {
      expect_found("weights_kept_by_pointer", algorithm, problem, 20);
      expect_found("weights_kept_at_bind", algorithm, problem, 20);
    }
}

TEST_F(Cheats, OneElementOutsideTheSample) {
  for (const char* algorithm : {"implicit_gemm", "winograd"})
    for (const char* problem : {small, large}) {
      expect_found("late_element", algorithm, problem, 20);
      expect_found("permuted_outputs", algorithm, problem, 20);
    }
}

TEST_F(Cheats, CoarseArithmeticUnderADeclaredTile) {
  for (const char* problem : {small, large})
    expect_found("coarse_arithmetic", "implicit_gemm", problem, 20, "unsupported");
}

TEST_F(Cheats, InAColdRotationFull) {
  // Outputs of a set are poisoned until its first timed turn: a run on them has to compute.
  for (const char* cheat : {"every_second_run", "one_percent"})
    expect_found(cheat, "implicit_gemm", large, 3, "incorrect", "cold");
}

}  // namespace
}  // namespace assay
