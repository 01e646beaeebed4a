// The plan of cuDNN's that several ranks take.

#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace test_conv_choice
}  // namespace assay
