#include "runner/supervision/lost_ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/standard_streams.hpp"
#include "core/result/journal.hpp"

namespace test_lost_ranks {

using namespace assay;
namespace fs = std::filesystem;

class LostRanks : public testing::Test {
 protected:
  ~LostRanks() override { fs::remove(log_); }
  std::string silent(const std::string& text, const std::vector<std::string>& hosts) {
    std::ofstream(log_, std::ios::binary) << text;
    std::vector<std::string> processes;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank)
      processes.push_back(std::to_string(100 + rank));
    return list_silent_ranks(log_, processes, hosts);
  }
  fs::path log_ = fs::temp_directory_path() / ("assay-lost-ranks-" + std::to_string(getpid()));
  const std::vector<std::string> three_{"a", "a", "a"};
};

TEST_F(LostRanks, NamesTheRankThatSaidNothing) {
  EXPECT_EQ(silent("rank 0 on a: ended by a signal\nprterun noticed that rank 1 died\n"
                   "[1,2]<stderr>:rank 2 on a: MPI_Allreduce: truncated\n",
                   three_),
            "rank 1 (process 101 on a) did not report");
}

TEST_F(LostRanks, SaysNothingWhereAllHaveReportedOrThereIsOne) {
  EXPECT_EQ(silent("rank 0 on a: x\nrank 1 on a: x\nrank 2 on a: x\n", three_), "");
  EXPECT_EQ(silent("", {"a"}), "");
  EXPECT_EQ(silent("", {}), "");
}

TEST_F(LostRanks, GroupsRanksByHost) {
  EXPECT_EQ(silent("", {"a", "b", "a", "b"}), "ranks 0, 2 on a and ranks 1, 3 on b did not report");
  EXPECT_EQ(silent("rank 0 on a: x\nrank 1 on a: x\n", {"a", "a", "b", "b"}),
            "ranks 2, 3 on b did not report");
  EXPECT_EQ(silent("", std::vector<std::string>(20, "a")),
            "ranks 0, … 19 (20 of them) on a did not report");
}

TEST_F(LostRanks, CountsOnlyReportsOfTheCaseThatWasOpen) {
  const std::string before = std::string("rank 1 on a: x\nend of b") + end_of_case + "\n";
  EXPECT_EQ(silent(before + "rank 0 on a: x\nrank 2 on a: x\n", three_),
            "rank 1 (process 101 on a) did not report");
}

TEST_F(LostRanks, IsNotMisledByOtherWords) {
  EXPECT_EQ(silent("rank 1 on b: x\nrank 7 on a: x\nrank 1 on a\nrank one on a: x\n"
                   "rank 0 on a: x\nrank 2 on a: x\n",
                   three_),
            "rank 1 (process 101 on a) did not report");
}

}  // namespace test_lost_ranks
