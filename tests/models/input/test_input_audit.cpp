#include "models/input/input_audit.hpp"

#include <gtest/gtest.h>

#include "models/input/bare_loop.hpp"
#include "models/ranks.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/faulty_set.hpp"

namespace assay {
namespace test_input_audit {

class InputAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSAY_SKIP_WITHOUT_IMAGES();
    set_ = std::make_shared<FaultySet>();
  }

  /// The samples of a rank's run as the case asks for them.
  static std::vector<std::int64_t> samples_of(const InputAudit& audit, std::uint64_t epoch) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < audit.images(); ++i)
      all.push_back(audit.sample(audit.place(epoch, i)));
    return all;
  }
  std::shared_ptr<FaultySet> set_;
};

TEST_F(InputAuditTest, ReadsTheTextsOfTheCase) {
  const InputClaims claims({{"problem", "n96mb4s16"},
                            {"ranks", "3"},
                            {"interleave", "2"},
                            {"view", "evaluate"},
                            {"image_layout", "nchw"},
                            {"threads", "5"},
                            {"prefetch", "3"},
                            {"step", "20"},
                            {"page_cache", "cold"}},
                           7);
  EXPECT_EQ(claims.images, 96);
  EXPECT_EQ(claims.batch, 4);
  EXPECT_EQ(claims.side, 16);
  EXPECT_EQ(claims.ranks, 3);
  EXPECT_EQ(claims.interleave, 2);
  EXPECT_FALSE(claims.training);
  EXPECT_EQ(claims.layout, ImageLayout::nchw);
  EXPECT_EQ(claims.seed, 7u);
  EXPECT_EQ(claims.threads, 5);
  EXPECT_EQ(claims.prefetch, 3);
  EXPECT_EQ(claims.step_seconds, 0.02);
  EXPECT_TRUE(claims.cold);
}

TEST_F(InputAuditTest, PassesRightSamplesOnAnyNumberOfRanks) {
  for (const bool training : {true, false})
    for (const int size : {1, 2, 3})
      testing_fakes::on_threads(size, [&](Communicator& ranks) {
        InputRun run = run_of_faulty(ranks.rank(), size);
        run.pipeline.decode.training = training;
        if (training) run.batches *= 2;  // two epochs
        InputAudit audit(set_, claims_of(run), ranks);
        for (const std::uint64_t epoch : {1000, 0, 1001})
          EXPECT_EQ(audit.fault_of_samples(epoch, samples_of(audit, epoch), false), "") << size;
      });
}

TEST_F(InputAuditTest, FindsWhatTheSettingsDoNotPromise) {
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const InputRun run = run_of_faulty(ranks.rank(), 2);
    InputAudit audit(set_, claims_of(run), ranks);
    const std::vector<std::int64_t> right = samples_of(audit, 0);
    const auto finds = [&](const std::string& told, std::vector<std::int64_t> samples) {
      const std::string fault = audit.fault_of_samples(0, samples, false);
      EXPECT_NE(fault.find(told), std::string::npos) << told << ": " << fault;
    };
    finds("6 images on a rank, not 12", {right.begin(), right.begin() + 6});
    std::vector<std::int64_t> wrong = right;
    wrong[3] = wrong[2];
    finds("times in an epoch", wrong);
    wrong = right;
    wrong[0] = -1;
    finds("no sample", wrong);
    // Both ranks have the samples of rank 0.
    std::vector<double> first(right.begin(), right.end());
    RankCalls(ranks).broadcast(first);
    finds("2 times in an epoch", {first.begin(), first.end()});
    // No shuffling.
    for (std::size_t i = 0; i < wrong.size(); ++i)
      wrong[i] = audit.place(0, static_cast<std::int64_t>(i)).position;
    finds("in the order of the set", wrong);
    // The order of every epoch is that of the first.
    EXPECT_EQ(audit.fault_of_samples(0, right, false), "");
    EXPECT_NE(audit.fault_of_samples(1000, right, false).find("same order"), std::string::npos);
    // Samples in the place of bad ones come twice.
    EXPECT_EQ(audit.fault_of_samples(0, std::vector<std::int64_t>(12, 5), true), "");
  });
}

TEST_F(InputAuditTest, EvaluationIsInTheOrderOfTheSet) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    InputRun run = run_of_faulty();
    run.pipeline.decode.training = false;
    InputAudit audit(set_, claims_of(run), ranks);
    std::vector<std::int64_t> samples = samples_of(audit, 0);
    std::swap(samples[3], samples[4]);
    EXPECT_NE(audit.fault_of_samples(0, samples, false), "");
  });
}

TEST_F(InputAuditTest, FindsViewsOfOtherEpochsAndSamples) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    const InputAudit audit(set_, claims_of(run_of_faulty()), ranks);
    Sample sample;
    set_->read(3, sample);
    std::vector<float> image(static_cast<std::size_t>(audit.decode().elements()));
    reference_decode(sample.encoded, audit.decode(), 5, 3, image.data());
    EXPECT_EQ(audit.fault_of_image(sample.encoded, 5, 3, image), "");
    EXPECT_NE(audit.fault_of_image(sample.encoded, 6, 3, image), "") << "the same crop";
    EXPECT_NE(audit.fault_of_image(sample.encoded, 5, 4, image), "") << "another sample's crop";
  });
}

/// The images that timed runs take are counted, whatever the audits say.
TEST_F(InputAuditTest, CountsTheImagesOfTheTimedEpoch) {
  for (const bool bare : {false, true})
    testing_fakes::on_threads(2, [&](Communicator& ranks) {
      const InputRun run = run_of_faulty(ranks.rank(), 2);
      const auto workload = bare ? make_bare_loop_workload(set_, run, claims_of(run), ranks, {}, 0)
                                 : make_input_workload(set_, run, claims_of(run), ranks, {}, 0);
      EXPECT_TRUE(workload->verify_before().passed);
      (void)workload->take_done();
      for (const double runs : {1, 3}) {
        for (int i = 0; i < runs; ++i) run_once(*workload);
        EXPECT_EQ(workload->take_done().at("images_per_s"), 24 * runs) << bare;
      }
      EXPECT_EQ(workload->take_done().at("images_per_s"), 0) << bare;
    });
}

/// A run of half of the batches that a case names, or of half batches.
TEST_F(InputAuditTest, ARunOfFewerImagesThanTheCaseNamesIsIncorrect) {
  for (const bool bare : {false, true})
    for (const bool half_batches : {false, true})
      testing_fakes::on_threads(2, [&](Communicator& ranks) {
        InputRun run = run_of_faulty(ranks.rank(), 2);
        const InputClaims claims = claims_of(run);
        if (half_batches)
          run.pipeline.batch /= 2;
        else
          run.batches = 1;
        const auto workload = bare ? make_bare_loop_workload(set_, run, claims, ranks, {}, 0)
                                   : make_input_workload(set_, run, claims, ranks, {}, 0);
        EXPECT_FALSE(workload->verify_before().passed) << bare << half_batches;
        (void)workload->take_done();
        run_once(*workload);
        EXPECT_LT(workload->take_done().at("images_per_s"), 24) << bare << half_batches;
      });
}

TEST_F(InputAuditTest, FindsAnotherPipelineThanTheCaseNames) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    const InputRun run = run_of_faulty();
    const auto finds = [&](const std::string& told, const std::function<void(InputClaims&)>& ask) {
      InputClaims claims = claims_of(run);
      ask(claims);
      const auto workload = make_input_workload(set_, run, claims, ranks, {}, 0);
      const Verification checked = workload->verify_before();
      EXPECT_FALSE(checked.passed) << told;
      EXPECT_NE(checked.reason.find(told), std::string::npos) << told << ": " << checked.reason;
    };
    finds("2 threads", [](InputClaims& claims) { claims.threads = 1; });
    finds("prepares 2", [](InputClaims& claims) { claims.prefetch = 0; });
    finds("had to wait", [](InputClaims& claims) { claims.step_seconds = 10; });
    finds("expected", [](InputClaims& claims) { claims.seed = 9; });
    finds("serial decode", [](InputClaims& claims) { claims.side = 8; });
  });
}

}  // namespace test_input_audit
}  // namespace assay
