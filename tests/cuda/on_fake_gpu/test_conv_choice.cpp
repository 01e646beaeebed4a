// The plan of cuDNN's that several ranks take, and the one that equal requests of a process get.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "assay/test_paths.hpp"
#include "comm/forwarding.hpp"
#include "core/program/plugins.hpp"
#include "fake_gpu.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace test_conv_choice {

/// The choice beside another rank that does not have the first `lacks` candidates, and on which the
/// next `refuses` do not run.
class WithAnother final : public ForwardingCommunicator {
 public:
  WithAnother(Communicator& alone, std::size_t lacks, int refuses)
      : ForwardingCommunicator(alone), lacks_(lacks), refuses_(refuses) {}
  std::vector<std::string> allgather(const std::string& names) override {
    if (!names.ends_with('\n')) return {names, "does not run there"};
    std::string others = names;
    for (std::size_t i = 0; i < lacks_ && !others.empty(); ++i)
      others.erase(0, others.find('\n') + 1);
    listed_ = true;
    return {names, others};
  }
  void allreduce_max(std::span<double> values) override {
    if (listed_ && refuses_-- > 0) values[0] = std::max(values[0], 1.0);
  }

 private:
  std::size_t lacks_;
  int refuses_;
  bool listed_ = false;
};

TEST(ConvOnRanks, TakeWhatAllOfThemHave) {
  ONLY_ON_THE_FAKE_GPU();
  setenv("FAKE_GPU_WORK_US", "1", 1);  // equal durations: the first is taken
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  Result<Backend*> opened = plugins.open("cuda");
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) GTEST_SKIP() << refusal->reason;
  const auto alone = make_serial_communicator();
  const ConvProblem problem(parse_conv("mb1ic4ih5oc4oh5kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  struct Trial {
    std::size_t lacks;
    int refuses;
    std::string algorithm, taken;
  };
  for (const Trial& trial :
       {Trial{0, 0, "graph", "eng70"}, Trial{1, 0, "graph", "eng28"}, Trial{0, 1, "graph", "eng28"},
        Trial{1, 1, "graph", "eng0_"}, Trial{100, 0, "graph", ""}, Trial{0, 100, "graph", ""},
        Trial{0, 0, "auto", "FMA"}, Trial{100, 0, "auto", ""}, Trial{0, 100, "auto", ""}}) {
    Options options;
    options.settings = {{"device", "gpu"}, {"algorithm", trial.algorithm}};
    WithAnother ranks(*alone, trial.lacks, trial.refuses);
    const auto made = std::get<Backend*>(opened)->make(problem, options, ranks);
    const auto* refusal = std::get_if<Unsupported>(&made);
    ASSERT_EQ(refusal != nullptr, trial.taken.empty()) << (refusal ? refusal->reason : "");
    if (refusal != nullptr) {
      const char* why = trial.lacks > 0 ? "on all ranks" : "rank 1: does not run there";
      EXPECT_NE(refusal->reason.find(why), std::string::npos) << refusal->reason;
    } else {
      const std::string ran =
          std::get<std::unique_ptr<Operation>>(made)->execution().implementation;
      EXPECT_NE(ran.find(trial.taken), std::string::npos) << ran;
    }
  }
  unsetenv("FAKE_GPU_WORK_US");
}

/// Sets variables of the environment while it lives.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<const std::string, std::string>> all) : all_(all) {
    for (const auto& [name, value] : all_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : all_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::string> all_;
};

/// Returns the choice for this convolution in fp16. All candidates take equally long on the fake,
/// so the first one with enough memory is chosen.
std::string take(const char* shape, const std::string& algorithm) {
  static auto& plugins = *new Plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const auto alone = make_serial_communicator();
  const Variables equal{{"FAKE_GPU_WORK_US", "100"}, {"FAKE_GPU_SUBMIT_US", "300"}};
  Result<Backend*> opened = plugins.open("cuda");
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) return refusal->reason;
  Options options;
  options.settings = {{"device", "gpu"}, {"algorithm", algorithm}};
  auto made = std::get<Backend*>(opened)->make(
      ConvProblem(parse_conv(shape), ConvDirection::forward, Precision::fp16), options, *alone);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return refusal->reason;
  const Execution ran = std::get<std::unique_ptr<Operation>>(made)->execution();
  return ran.algorithm + ' ' + ran.implementation;
}

/// A plan that was taken while memory was short is not kept, and one that is kept is taken again
/// where its memory is there.
TEST(ConvChoice, IsKeptWhereMemoryDidNotDecide) {
  ONLY_ON_THE_FAKE_GPU();
  const struct {
    const char *algorithm, *greedy, *first, *second;
  } kinds[] = {{"graph", "engine_65", "eng65_", "eng67_"},
               {"auto", "winograd_nonfused", "winograd_nonfused ", "winograd "}};
  for (const auto& kind : kinds) {
    const Variables greedy{{std::string("FAKE_CUDNN_WORKSPACE_") + kind.greedy, "100000000"}};
    const char* const shape = "mb1ic8ih7oc8oh7kh3ph1";
    for (int turn = 0; turn < 2; ++turn) {
      {
        const Variables is_short{{"FAKE_GPU_BYTES", "90000000"}};
        EXPECT_NE(take(shape, kind.algorithm).find(kind.second), std::string::npos) << turn;
      }
      EXPECT_NE(take(shape, kind.algorithm).find(kind.first), std::string::npos) << turn;
    }
    // It is kept: the library would now refuse to make it once more.
    const Variables refused{{"FAKE_CUDNN_REFUSES", kind.greedy}};
    EXPECT_NE(take(shape, kind.algorithm).find(kind.first), std::string::npos);
  }
}

/// A GPU whose clock rises favours what is timed later, one whose clock falls what is timed before.
TEST(ConvChoice, IsThatOfASteadyClockWhereItDrifts) {
  ONLY_ON_THE_FAKE_GPU();
  const struct {
    const char *shape, *drift, *us_of_first, *taken;
  } clocks[] = {{"mb1ic8ih5oc8oh5kh3ph1", "0.99", "94", "eng65_"},
                {"mb1ic8ih6oc8oh6kh3ph1", "1.01", "106", "eng67_"}};
  for (const auto& clock : clocks) {
    const Variables drifts{{"FAKE_GPU_DRIFT", clock.drift},
                           {"FAKE_GPU_WORK_US_engine_65", clock.us_of_first}};
    const std::string taken = take(clock.shape, "graph");
    EXPECT_NE(taken.find(clock.taken), std::string::npos) << taken;
  }
}

}  // namespace test_conv_choice
}  // namespace assay
