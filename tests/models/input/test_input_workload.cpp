#include "models/input/input_workload.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/faulty_set.hpp"

namespace assay {
namespace test_input_workload {

class InputWorkload : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSAY_SKIP_WITHOUT_IMAGES();
    set_ = std::make_shared<FaultySet>();
  }

  /// A workload on one rank, verified.
  std::unique_ptr<Workload> verified(Communicator& ranks) {
    auto made = make_input_workload(set_, run_of_faulty(), claims_of(run_of_faulty()), ranks,
                                    {{"images_per_s", 24}}, 0);
    const Verification before = made->verify_before();
    EXPECT_TRUE(before.passed) << before.reason;
    EXPECT_EQ(before.checked, faulty_samples * 3 * 16 * 16);
    return made;
  }
  std::unique_ptr<Workload> made(const InputRun& run, Communicator& ranks) const {
    return make_input_workload(set_, run, claims_of(run), ranks, {}, 0);
  }
  std::shared_ptr<FaultySet> set_;
};

TEST_F(InputWorkload, PassesAllChecksOnAnyNumberOfRanks) {
  for (const int size : {1, 2, 3})
    testing_fakes::on_threads(size, [&](Communicator& ranks) {
      const auto workload = made(run_of_faulty(ranks.rank(), size), ranks);
      EXPECT_TRUE(workload->verify_before().passed);
      run_once(*workload);
      expect_audits_pass(*workload);
      const Verification after = workload->verify_after();
      EXPECT_TRUE(after.passed) << after.reason;
      const auto metrics = workload->metrics();
      EXPECT_EQ(metrics.at("bad_samples").value, 0);
      EXPECT_GT(metrics.at("stall_percent").value, 0);
      EXPECT_GT(metrics.at("encoded_bytes_per_image").value, 500);
      EXPECT_GT(metrics.at("decode_s_per_image").value, 0);
    });
}

TEST_F(InputWorkload, AWrongImageOrLabelIsFoundInEveryCheck) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    for (const auto& [fault, told] : {std::pair(FaultySet::other_image, "sample 7 differs from"),
                                      std::pair(FaultySet::other_label, "sample 7 with label 4")}) {
      const auto workload = verified(ranks);
      for (const Audit kind : {Audit::new_inputs, Audit::poisoned_outputs}) {
        workload->begin_audit(kind);
        set_->fault = fault;
        run_once(*workload);
        set_->fault = FaultySet::none;
        const Verification audit = workload->end_audit();
        EXPECT_FALSE(audit.passed);
        EXPECT_NE(audit.reason.find(told), std::string::npos) << audit.reason;
        EXPECT_EQ(audit.wrong_elements, 3 * 16 * 16);
      }
      run_once(*workload);
      EXPECT_TRUE(workload->verify_after().passed);
    }
  });
}

/// The images of the last batch of the timed epoch are checked though no check was announced.
TEST_F(InputWorkload, TheLastTimedRunIsChecked) {
  // Batches are functions of the seed: find one whose last batch has sample 7.
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    for (std::uint64_t seed = 1; seed < 100; ++seed) {
      InputRun run = run_of_faulty();
      run.pipeline.decode.seed = seed;
      InputPipeline pipeline(*set_, run.pipeline);
      pipeline.start({}, run.batches);
      for (std::int64_t i = 1; i < run.batches; ++i) pipeline.next();
      const Batch& last = pipeline.next();
      if (std::count(last.samples.begin(), last.samples.end(), 7) == 0) continue;
      const auto workload = made(run, ranks);
      EXPECT_TRUE(workload->verify_before().passed);
      set_->fault = FaultySet::other_image;
      run_once(*workload);
      set_->fault = FaultySet::none;
      const Verification after = workload->verify_after();
      EXPECT_FALSE(after.passed);
      EXPECT_NE(after.reason.find("last timed run"), std::string::npos) << after.reason;
      return;
    }
    FAIL() << "no seed";
  });
}

TEST_F(InputWorkload, ABadFileOfOneRankEndsAllRanks) {
  std::atomic<int> ended = 0;
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const auto workload = made(run_of_faulty(ranks.rank(), 3), ranks);
    ranks.barrier();
    set_->fault = FaultySet::unreadable;  // one of them has sample 7
    const std::string message = message_of<InputError>([&] { workload->verify_before(); });
    EXPECT_TRUE(message.ends_with("the disk is gone")) << message;
    ++ended;
  });
  EXPECT_EQ(ended, 3);
}

/// A rank that made no more checks than it needs would let the others wait.
TEST_F(InputWorkload, AWrongImageOfOneRankKeepsNoneWaiting) {
  set_->fault = FaultySet::other_label;
  set_->wrong_reads = 1;  // that of the one rank that has it
  std::atomic<int> wrong = 0;
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto workload = made(run_of_faulty(ranks.rank(), 2), ranks);
    if (!workload->verify_before().passed) ++wrong;
    run_once(*workload);
    EXPECT_TRUE(workload->verify_after().passed);
  });
  EXPECT_EQ(wrong, 1);
}

/// Each rank has found another one, and no more than is allowed.
TEST_F(InputWorkload, TheLimitOfBadSamplesIsForAllRanks) {
  for (const std::int64_t most : {1, 2}) {
    std::atomic<int> refused = 0;
    testing_fakes::on_threads(2, [&](Communicator& ranks) {
      const auto set = std::make_shared<FaultySet>();
      set->bad = 7 + ranks.rank();
      InputRun run = run_of_faulty(ranks.rank(), 2);
      run.pipeline.max_bad_samples = most;
      run.batches = 8 * run.batches;  // several epochs: each rank meets its sample
      const auto workload = make_input_workload(set, run, claims_of(run), ranks, {}, 0);
      EXPECT_TRUE(workload->verify_before().passed);
      run_once(*workload);
      const std::string message = message_of<InputError>([&] { workload->verify_after(); });
      if (message.empty()) {
        EXPECT_EQ(workload->metrics().at("bad_samples").value, 2);
        return;
      }
      ++refused;
      EXPECT_NE(message.find("damaged (one of 2 bad samples of all ranks"), std::string::npos)
          << message;
    });
    EXPECT_EQ(refused, most == 1 ? 2 : 0);
  }
}

TEST_F(InputWorkload, AnEvaluationThatLacksImagesIsNoRate) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    InputRun run = run_of_faulty();
    run.pipeline.decode.training = false;
    run.pipeline.batch = 5;  // 24 samples: the last batch has 4
    run.batches = 5;
    const auto workload = made(run, ranks);
    EXPECT_NE(message_of<CaseError>([&] { workload->verify_before(); }).find("4 of 5 images"),
              std::string::npos);
  });
}

TEST_F(InputWorkload, MemoryThatIsNotThereIsRefused) {
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    InputRun run = run_of_faulty();
    run.pipeline.decode.size = 8192;
    run.pipeline.prefetch = 4000;
    EXPECT_NE(message_of<CaseError>([&] { made(run, ranks); }).find("GiB of memory"),
              std::string::npos);
  });
}

TEST_F(InputWorkload, ColdFilesAreProvenCold) {
  const std::string memory = "/dev/shm";
  if (!std::filesystem::is_directory(memory)) GTEST_SKIP() << "no file system in memory";
  const std::string file = memory + "/assay_test_input.tfrecord";
  std::ofstream(file, std::ios::binary) << test_record(0) << test_record(1);
  testing_fakes::on_threads(1, [&](Communicator& ranks) {
    InputRun run = run_of_faulty();
    run.pipeline.batch = 2;
    run.batches = 1;
    run.cold = true;
    EXPECT_NE(message_of<CaseError>([&] {
                make_input_workload(open_samples(file, {0, 5}), run, claims_of(run), ranks, {}, 0);
              }).find("stay in the page cache"),
              std::string::npos);
  });
  std::filesystem::remove(file);
}

}  // namespace test_input_workload
}  // namespace assay
