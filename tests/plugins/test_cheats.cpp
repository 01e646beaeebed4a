// No backend that leaves work out of its timed runs gets an ok row.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "core/measure/run_case.hpp"
#include "kernels/conv/benchmark.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/rnn/benchmark.hpp"
#include "tests/plugins/cheats_on.hpp"

namespace assay {
namespace {

const char* const small = "mb2ic16ih8oc16kh3ph1";
const char* const large = "mb4ic32ih28oc32kh3ph1";
std::vector<const char*> cheats_problems() {
  if (cheats_on_gpu()) return {small};  // a fake one is slow
  return {small, large};
}

class Cheats : public testing::Test {
 protected:
  Cheats() { omp_set_num_threads(1); }  // the cases are small, and there are many

  Outcome run(const std::string& cheat, const std::string& algorithm, const std::string& direction,
              const std::string& problem, std::uint64_t seed, const std::string& cache = "hot") {
    setenv("ASSAY_CHEAT", cheat.c_str(), 1);
    CaseContext context{plugins_, *ranks_, seed, 1e5};  // a sample of a part of the outputs
    TimingOptions timing;
    timing.max_time = cheats_on_gpu() ? 0.01 : 0.002;  // so many runs that a cheat dares
    // cuDNN has other names of backward algorithms.
    const std::string chosen =
        cheats_on_gpu() && algorithm == "implicit_gemm" && direction != "forward" ? "algo_1"
                                                                                  : algorithm;
    const Settings settings{
        {"backend", "cheating"}, {"algorithm", chosen},       {"direction", direction},
        {"problem", problem},    {"precision", "fp32"},       {"cache", cache},
        {"layout", "any"},       {"device", cheats_device()}, {"threads", "1"}};
    return run_case([&] { return benchmark_.prepare(make_case(benchmark_, settings), context); },
                    *ranks_, timing);
  }

  /// All of `trials` runs must be found out; `said`: a part of the reason.
  void expect_found(const std::string& cheat, const std::string& algorithm,
                    const std::string& problem, int trials, const std::string& status,
                    const std::string& said, const std::string& cache) {
    for (const char* direction : {"forward", "bwd_data", "bwd_weights"}) {
      // native has no Winograd algorithm of this direction.
      if (algorithm == "winograd" && direction == std::string("bwd_weights")) continue;
      for (int trial = 1; trial <= trials; ++trial) {
        const Outcome outcome =
            run(cheat, algorithm, direction, problem, static_cast<std::uint64_t>(trial), cache);
        ASSERT_EQ(outcome.status, status)
            << cheat << " " << algorithm << " " << direction << " " << problem << " trial " << trial
            << ": " << outcome.reason;
        EXPECT_NE(outcome.reason.find(said), std::string::npos) << outcome.reason;
        EXPECT_FALSE(outcome.timing);
      }
    }
  }

  const OperationBenchmark& benchmark_ = conv_benchmark();
  Plugins plugins_{std::vector<std::filesystem::path>{TEST_PLUGINS, BUILT_PLUGINS}};
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
};

TEST_F(Cheats, HonestRunsAreOk) {
  for (const char* algorithm : {"implicit_gemm", "winograd"})
    for (const char* direction : {"forward", "bwd_data"})
      for (const char* problem : cheats_problems())
        for (const char* cache : {"hot", "cold"}) {
          const Outcome outcome = run("", algorithm, direction, problem, 1, cache);
          ASSERT_EQ(outcome.status, "ok") << outcome.reason;
          EXPECT_NE(outcome.verification->reference.find("timed runs checked"), std::string::npos)
              << outcome.verification->reference;
        }
}

/// The work that a backend leaves out, with which algorithm, hot or cold.
class Cheat
    : public Cheats,
      public testing::WithParamInterface<std::tuple<const char*, const char*, const char*>> {};

TEST_P(Cheat, IsFoundInEachTrial) {
  const auto& [cheat, algorithm, cache] = GetParam();
  // A result that cannot be judged is not said to be wrong.
  const bool coarse = cheat == std::string("coarse_arithmetic");
  for (const char* problem : cheats_problems())
    expect_found(cheat, algorithm, problem, cheat_trials(20), coarse ? "unsupported" : "incorrect",
                 coarse ? "declares a Winograd tile of 8" : "inputs, ", cache);
}

INSTANTIATE_TEST_SUITE_P(All, Cheat,
                         testing::Combine(testing::Values("run_only_on_poison", "every_second_run",
                                                          "one_percent", "computes_at_bind",
                                                          "weights_kept_by_pointer",
                                                          "weights_kept_at_bind", "late_element",
                                                          "permuted_outputs", "coarse_arithmetic"),
                                          testing::Values("implicit_gemm", "winograd"),
                                          testing::Values("hot", "cold")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param) + "_" + std::get<2>(test.param);
                         });

/// A reference of few multiply-adds: draws after the first have gradients in two rows of the batch
/// alone.
TEST_F(Cheats, InGradientsOfRecurrentNetworks) {
  const auto run_rnn = [&](const std::string& cheat, const char* cell, const char* direction,
                           std::uint64_t seed) {
    setenv("ASSAY_CHEAT", cheat.c_str(), 1);
    CaseContext context{plugins_, *ranks_, seed, 1};
    TimingOptions timing;
    timing.max_time = 0.002;
    const Settings settings{{"backend", "cheating"},
                            {"direction", direction},
                            {"problem", cell + std::string(":48-6-5")},
                            {"precision", "fp32"},
                            {"input", "linear"},
                            {"algorithm", "auto"},
                            {"cache", "hot"},
                            {"device", cheats_device()},
                            {"threads", "1"}};
    return run_case(
        [&] { return rnn_benchmark().prepare(make_case(rnn_benchmark(), settings), context); },
        *ranks_, timing);
  };
  for (const char* cell : {"vanilla_tanh", "lstm", "gru", "gru_lbr"}) {
    if (cheats_on_gpu() && cell == std::string("gru")) continue;  // which cuDNN has not
    for (const char* direction : {"bwd_data", "bwd_weights", "bwd"}) {
      const Outcome honest = run_rnn("", cell, direction, 1);
      EXPECT_EQ(honest.status, "ok") << honest.reason;
      for (const char* cheat : {"run_only_on_poison", "every_second_run", "one_percent",
                                "weights_kept_by_pointer", "weights_kept_at_bind"})
        for (int seed = 1; seed <= cheat_trials(5); ++seed) {
          // cuDNN makes gradients of weights of what the forward pass left, without the weights.
          if (cheats_on_gpu() && direction == std::string("bwd_weights") &&
              std::string(cheat).starts_with("weights_kept"))
            continue;
          const Outcome found = run_rnn(cheat, cell, direction, static_cast<std::uint64_t>(seed));
          EXPECT_EQ(found.status, "incorrect")
              << cheat << " " << cell << " " << direction << ": " << found.reason;
          EXPECT_FALSE(found.timing);
        }
    }
  }
}

}  // namespace
}  // namespace assay
