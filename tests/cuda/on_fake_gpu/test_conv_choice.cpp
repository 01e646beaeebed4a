// Which of cuDNN's plans several ranks take.

#include <gtest/gtest.h>

#include <limits>

#include "assay/test_paths.hpp"
#include "comm/forwarding.hpp"
#include "core/program/plugins.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace {

/// Another rank, on which the first `lacks` candidates do not run.
class OtherRank final : public ForwardingCommunicator {
 public:
  OtherRank(Communicator& under, std::size_t lacks)
      : ForwardingCommunicator(under), lacks_(lacks) {}
  void allreduce_max(std::span<double> values) override {
    ++asked;
    for (std::size_t i = 0; i < std::min(lacks_, values.size()); ++i)
      values[i] = std::numeric_limits<double>::infinity();
  }
  int asked = 0;

 private:
  std::size_t lacks_;
};

TEST(ConvOnRanks, TakeWhatAllOfThemHave) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  Result<Backend*> opened = plugins.open("cuda");
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) GTEST_SKIP() << refusal->reason;
  const auto alone = serial_communicator();
  const ConvProblem problem(parse_conv("mb1ic4ih5oc4oh5kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  for (const char* algorithm : {"graph", "auto"})
    for (const std::size_t lacks : {0, 100}) {
      Options options;
      options.settings = {{"device", "gpu"}, {"algorithm", algorithm}};
      OtherRank other(*alone, lacks);
      const auto made = std::get<Backend*>(opened)->make(problem, options, other);
      EXPECT_EQ(other.asked, 1) << "or ranks wait for each other";
      const auto* refusal = std::get_if<Unsupported>(&made);
      ASSERT_EQ(refusal != nullptr, lacks > 0) << algorithm;
      if (refusal == nullptr) continue;
      EXPECT_NE(refusal->reason.find("on all ranks"), std::string::npos) << refusal->reason;
    }
}

}  // namespace
}  // namespace assay
