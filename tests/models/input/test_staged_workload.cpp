#include "models/input/staged_workload.hpp"

#include <gtest/gtest.h>

#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/faulty_set.hpp"
#include "tests/models/input/staged_sets.hpp"

namespace assay {
namespace test_staged_workload {

TEST(StagingCost, BytesThatAreReadTwiceAreNoStaging) {
  StagingCost cost;
  cost.set_bytes = cost.staged_bytes = cost.read_bytes = 1e6;
  cost.lacking_bytes = cost.kept_bytes = 2e6;
  EXPECT_EQ(find_fault_of_staging(cost), "");
  cost.read_bytes = 1.004e6;
  EXPECT_EQ(find_fault_of_staging(cost), "");
  for (const double bytes : {2e6, 1.006e6, 0.99e6, 0.0}) {
    cost.read_bytes = bytes;
    EXPECT_NE(find_fault_of_staging(cost).find("not each file once"), std::string::npos) << bytes;
  }
  // One of many small files.
  cost.staged_bytes = 1e9;
  cost.read_bytes = 1e9 + 5000;
  EXPECT_NE(find_fault_of_staging(cost), "");
  cost.nodes = 2;
  EXPECT_EQ(find_fault_of_staging(cost), "");
  cost.staged_bytes = cost.read_bytes = 1e6;
  cost.kept_bytes = 1e6;
  EXPECT_NE(find_fault_of_staging(cost).find("kept 1000000 bytes of the 2000000"),
            std::string::npos);
}

TEST(StagingCost, MetricsAreOfWhatWasDone) {
  StagingCost cost;
  cost.set_bytes = cost.staged_bytes = cost.read_bytes = 1e9;
  cost.lacking_bytes = cost.kept_bytes = 4e9;
  cost.passed_bytes = 3e9;
  cost.read_s = 2;
  cost.pass_s = 3;
  cost.keep_s = 8;
  cost.cached_bytes = 2.5e8;
  cost.seconds = 12;
  auto metrics = staging_metrics(cost);
  EXPECT_EQ(metrics.at("stage_s").value, 12);
  EXPECT_EQ(metrics.at("stage_read_ratio").value, 1);
  EXPECT_EQ(metrics.at("stage_read_bytes_per_s").value, 5e8);
  EXPECT_EQ(metrics.at("stage_passed_bytes_per_s").value, 1e9);
  EXPECT_EQ(metrics.at("stage_kept_bytes_per_s").value, 5e8);
  EXPECT_EQ(metrics.at("stage_cached_percent").value, 25);
  cost = of_later_row(cost);
  metrics = staging_metrics(cost);
  EXPECT_EQ(find_fault_of_staging(cost), "");
  EXPECT_EQ(metrics.at("stage_set_bytes").value, 1e9);
  for (const char* name : {"stage_s", "stage_read_ratio", "stage_cached_percent"})
    EXPECT_FALSE(metrics.contains(name)) << name;
  EXPECT_FALSE(metrics.contains("stage_read_bytes_per_s"));
  EXPECT_EQ(metrics.at("stage_bytes").value, 0);
}

class StagedWorkload : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSAY_SKIP_WITHOUT_IMAGES();
    write_test_set(folder_, faulty_samples, 3);
  }
  StagedSet make_staged(Communicator& ranks) const {
    return stage(folder_ / "train-", folder_ / "node{node}", {}, ranks);
  }
  static std::unique_ptr<Workload> workload(StagedSet set, Communicator& ranks) {
    const InputRun run = run_of_faulty(ranks.rank(), ranks.size());
    auto inner =
        make_input_workload(open_samples(set.data, {0, 5}), run, claims_of(run), ranks, {}, 0);
    return make_staged_workload(std::move(inner), std::move(set), ranks);
  }
  Folder folder_;
};

TEST_F(StagedWorkload, ReadsTheCopyOfEachNode) {
  testing_fakes::on_threads(
      2,
      [&](Communicator& ranks) {
        const auto staged_set = workload(make_staged(ranks), ranks);
        EXPECT_TRUE(staged_set->verify_before().passed);
        run_once(*staged_set);
        expect_audits_pass(*staged_set);
        EXPECT_TRUE(staged_set->verify_after().passed);
        const auto metrics = staged_set->metrics();
        EXPECT_EQ(metrics.at("stage_read_ratio").value, 1);
        EXPECT_TRUE(metrics.contains("stall_percent"));
      },
      1);
}

TEST_F(StagedWorkload, AStagingThatReadTwiceFailsTheRow) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    StagedSet set = make_staged(ranks);
    set.cost.read_bytes *= 2;
    const Verification checked = workload(std::move(set), ranks)->verify_before();
    EXPECT_FALSE(checked.passed);
    EXPECT_NE(checked.reason.find("ratio 2.00"), std::string::npos) << checked.reason;
  });
}

/// A byte behind the images: nothing that decodes them would notice it.
TEST_F(StagedWorkload, AByteThatChangesOnOneNodeFailsAllRanks) {
  testing_fakes::on_threads(
      3,
      [&](Communicator& ranks) {
        StagedSet set = make_staged(ranks);
        const auto staged_set = workload(std::move(set), ranks);
        EXPECT_TRUE(staged_set->verify_before().passed);
        run_once(*staged_set);
        ranks.barrier();
        if (ranks.rank() == 1) flip_byte(folder_ / "node1/train-2", 9);  // of a length's checksum
        ranks.barrier();
        const Verification after = staged_set->verify_after();
        EXPECT_FALSE(after.passed);
        EXPECT_NE(after.reason.find("train-2 is not what was staged"), std::string::npos)
            << after.reason;
      },
      1);
}

}  // namespace test_staged_workload
}  // namespace assay
