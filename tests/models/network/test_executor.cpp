#include "models/network/executor.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_executor {

using network_test::plugins;
using network_test::small_settings;

TEST(Executor, TellsOnceOfEachBackendWhyNoneComputesANode) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = small_settings("native");
  of.precision = Precision::fp64;
  of.executor.measured = true;
  const auto made = Trainer::make(of, plugins(), *alone);
  const auto* const refusal = std::get_if<Unsupported>(&made);
  ASSERT_NE(refusal, nullptr);
  const std::string& told = refusal->reason;
  EXPECT_TRUE(told.starts_with("no backend computes conv1 forward (native has no fp64 ")) << told;
  EXPECT_EQ(told.find("native", told.find("native") + 1), std::string::npos) << told;
  EXPECT_TRUE(told.ends_with("Use --backend reference, which computes a whole network.")) << told;
}

/// The result of Trainer::make on each of 2 ranks, where rank 1 has other settings.
std::vector<std::string> told(const TrainerSettings& of_rank_0, const TrainerSettings& of_rank_1) {
  std::vector<std::string> all(2);
  (void)plugins();
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const TrainerSettings& of = ranks.rank() == 1 ? of_rank_1 : of_rank_0;
    std::string& mine = all[static_cast<std::size_t>(ranks.rank())];
    try {
      const auto made = Trainer::make(of, plugins(), ranks);
      const auto* const refusal = std::get_if<Unsupported>(&made);
      mine = refusal == nullptr ? "made" : "unsupported: " + refusal->reason;
    } catch (const CaseError& error) {
      mine = error.what();
    }
    ranks.barrier();  // no rank is still in another collective call
  });
  return all;
}

/// …where it has other backends.
std::vector<std::string> told(const std::vector<std::string>& of_rank_1) {
  TrainerSettings other = small_settings("native");
  other.executor.backends = of_rank_1;
  return told(small_settings("native"), other);
}

TEST(ExecutorOfRanks, IsMadeWhereRanksHaveTheSameBackends) {
  EXPECT_EQ(told(small_settings("native").executor.backends),
            (std::vector<std::string>{"made", "made"}));
}

/// Else the other ranks would go on, and wait for it for ever.
TEST(ExecutorOfRanks, IsUnsupportedOnAllWhereItIsOnOne) {
  const std::vector<std::string> found = told({"missing"});
  EXPECT_TRUE(found[0].starts_with("unsupported: rank 1 on threads0: no backend computes "))
      << found[0];
  EXPECT_EQ(found[0], found[1]);
}

/// Else the row would tell rank 0's backends alone, and measure() compare times of others.
TEST(ExecutorOfRanks, FailsWhereRanksComputeDifferently) {
  const std::vector<std::string> found = told({"reference"});
  EXPECT_TRUE(found[0].starts_with("rank 1 on threads0 can compute ")) << found[0];
  EXPECT_NE(found[0].find(" by reference, rank 0 by native: "), std::string::npos) << found[0];
  EXPECT_EQ(found[0], found[1]);
}

TEST(ExecutorOfRanks, LeavesOutOnAllWhatOneCannotMake) {
  TrainerSettings measured = small_settings("native");
  measured.executor.measured = true;
  TrainerSettings lacking = measured;
  lacking.precision = Precision::fp64;
  const std::vector<std::string> found = told(measured, lacking);
  EXPECT_TRUE(
      found[0].starts_with("unsupported: no backend computes conv1 forward (native has no "
                           "fp64 "))
      << found[0];
  EXPECT_EQ(found[0], found[1]);
}

/// Else one would wait for the other in the agreement on a candidate that the other does not try.
TEST(ExecutorOfRanks, FailsWhereRanksHaveOtherChoices) {
  TrainerSettings measured = small_settings("native");
  measured.executor.measured = true;
  TrainerSettings more = measured;
  more.executor.backends.push_back("reference");
  const std::vector<std::string> found = told(measured, more);
  EXPECT_TRUE(found[0].ends_with("ranks must compute alike. Give a --backend that all nodes have."))
      << found[0];
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace test_executor
}  // namespace assay
