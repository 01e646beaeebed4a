#include "models/input/bare_loop.hpp"

#include <gtest/gtest.h>

#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/faulty_set.hpp"

namespace assay {
namespace test_bare_loop {

class BareLoop : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSAY_SKIP_WITHOUT_IMAGES();
    set_ = std::make_shared<FaultySet>();
  }

  std::unique_ptr<Workload> made(Communicator& ranks) const {
    const InputRun run = run_of_faulty(ranks.rank(), ranks.size());
    return make_bare_loop_workload(set_, run, claims_of(run), ranks, {{"images_per_s", 24}}, 0);
  }
  std::shared_ptr<FaultySet> set_;
};

TEST_F(BareLoop, PassesAllChecksOnAnyNumberOfRanks) {
  for (const int size : {1, 2, 3})
    testing_fakes::on_threads(size, [&](Communicator& ranks) {
      const auto workload = made(ranks);
      const Verification before = workload->verify_before();
      EXPECT_TRUE(before.passed) << before.reason;
      EXPECT_TRUE(before.exact);
      EXPECT_GT(before.checked, 0);
      run_once(*workload);
      expect_audits_pass(*workload);
      const Verification after = workload->verify_after();
      EXPECT_TRUE(after.passed) << after.reason;
      EXPECT_GT(workload->metrics().at("encoded_bytes_per_image").value, 500);
    });
}

TEST_F(BareLoop, TheCentresOfEvaluationPass) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    InputRun run = run_of_faulty();
    run.pipeline.decode.training = run.pipeline.shuffle = false;
    EXPECT_TRUE(
        make_bare_loop_workload(set_, run, claims_of(run), ranks, {}, 0)->verify_before().passed);
  });
}

/// The decoded images must be those of the set, not only the loaded ones.
TEST_F(BareLoop, AWrongImageIsFoundOnItsRankAndKeepsNoneWaiting) {
  set_->fault = FaultySet::other_image;
  set_->wrong_reads = 1;  // the one that loads it
  std::atomic<int> wrong = 0;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto workload = made(ranks);
    const Verification before = workload->verify_before();
    if (before.passed) return;
    ++wrong;
    EXPECT_NE(before.reason.find("sample 7 differs"), std::string::npos) << before.reason;
    EXPECT_GT(before.wrong_elements, 0);
  });
  EXPECT_EQ(wrong, 1);
}

TEST_F(BareLoop, AnImageThatItCannotDecodeEndsAllRanks) {
  set_->fault = FaultySet::unreadable;
  std::atomic<int> ended = 0;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const std::string message = message_of<InputError>([&] { made(ranks); });
    EXPECT_NE(message.find("the disk is gone"), std::string::npos) << message;
    ++ended;
  });
  EXPECT_EQ(ended, 2);

  set_->fault = FaultySet::png;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto workload = made(ranks);
    const std::string message = message_of<InputError>([&] { workload->verify_before(); });
    EXPECT_NE(message.find("sample 7: "), std::string::npos) << message;
    EXPECT_NE(message.find("--reader pipeline"), std::string::npos) << message;
  });
}

}  // namespace test_bare_loop
}  // namespace assay
