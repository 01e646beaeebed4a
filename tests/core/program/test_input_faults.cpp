#include "core/program/input_faults.hpp"

#include <gtest/gtest.h>

#include "comm/forwarding.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_input_faults {

struct ProcessEnd {
  std::string why;
  ExitCode code;
};

/// Rank 1 of 2, to which the other one never comes.
class Waiting final : public ForwardingCommunicator {
 public:
  explicit Waiting(Communicator& under) : ForwardingCommunicator(under) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }
  std::string host() const override { return "here"; }
  std::unique_ptr<Communicator> split(int, int) override {
    return std::make_unique<Waiting>(under());
  }
  bool done(Request&) override { return false; }
  [[noreturn]] void abort(const std::string& why, ExitCode code) override {
    throw ProcessEnd{why, code};
  }
  std::vector<std::string> allgather(const std::string& text) override { return {text, text}; }
};

TEST(InputFaults, OfASingleRankEndsTheJob) {
  const auto alone = make_serial_communicator();
  Waiting ranks(*alone);
  try {
    InputFaults(ranks).tell("assay-x", "a.csv: is empty", std::chrono::milliseconds(1));
    ADD_FAILURE() << "went on";
  } catch (const ProcessEnd& end) {
    EXPECT_EQ(end.why, "assay-x: rank 1 on here: a.csv: is empty");
    EXPECT_EQ(end.code, ExitCode::usage);
  }
}

std::string told(const std::string& of_rank_2) {
  testing::internal::CaptureStderr();
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    InputFaults(ranks).tell("assay-x", ranks.rank() == 2 ? of_rank_2 : "a.csv: is empty");
  });
  return testing::internal::GetCapturedStderr();
}

TEST(InputFaults, OfAllRanksAreToldOnce) {
  EXPECT_EQ(told("a.csv: is empty"), "assay-x: a.csv: is empty\n");
  EXPECT_EQ(told("b.csv: is a folder"),
            "assay-x: a.csv: is empty\nassay-x: rank 2: b.csv: is a folder\n");
}

}  // namespace test_input_faults
}  // namespace assay
