#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"
#include "models/analytics/analytics_workload.hpp"
#include "models/analytics/table_problem.hpp"

namespace assay {
namespace test_table_problem {

std::string complaint(const std::string& text) {
  try {
    const TableSize size = parse_table(text);
    (void)rows_of_all(size, 3, 8);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TableProblem, SizesAreRowsOrBytes) {
  EXPECT_EQ(rows_of_all(parse_table("n262144d250"), 4, 8), 262144);
  EXPECT_EQ(rows_of_all(parse_table("each1000d250"), 4, 8), 4000);
  EXPECT_EQ(rows_of_all(parse_table("8GB"), 4, 8), 4000000);
  EXPECT_EQ(rows_of_all(parse_table("8GB"), 4, 4), 8000000);
  EXPECT_EQ(rows_of_all(parse_table("8G"), 1, 8), (std::int64_t{8} << 30) / 2000);
  EXPECT_EQ(rows_of_all(parse_table("4kBd10"), 1, 8), 50);
  EXPECT_EQ(parse_table("8GBd100").features, 100);
  EXPECT_EQ(to_text(parse_table("n10")), "n10d250");
  EXPECT_EQ(to_text(parse_table("each10")), "each10d250");
}

TEST(TableProblem, TheCanonicalTextIsItsOwn) {
  for (const char* text : {"n262144d250", "each7d3", "8GB", "64Gd17"}) {
    const std::string canonical = to_text(parse_table(text));
    EXPECT_EQ(to_text(parse_table(canonical)), canonical);
  }
}

TEST(TableProblem, ErrorsNameTheField) {
  EXPECT_NE(complaint("n0d250").find("n is 0"), std::string::npos);
  EXPECT_NE(complaint("d10").find("one of n"), std::string::npos);
  EXPECT_NE(complaint("n10each3d5").find("one of n"), std::string::npos);
  // --bytes 8GB --rows 10: the size is right, but there are two.
  for (const char* both : {"8GBn10", "8GBeach10", "8Gn10d5"})
    EXPECT_NE(complaint(both).find("exactly one of n (--rows)"), std::string::npos)
        << complaint(both);
  EXPECT_NE(complaint("8QB").find("QB"), std::string::npos);
  for (const char* unit : {"gb", "GBytes", "KB"})
    EXPECT_NE(complaint("8" + std::string(unit)).find("kB, MB, GB, TB"), std::string::npos) << unit;
  for (const char* number : {"1e9", "1.5GB"})
    EXPECT_NE(complaint(number).find("whole number"), std::string::npos) << complaint(number);
  EXPECT_NE(complaint("100Bd50"), "");
  EXPECT_NE(complaint("1kBd250").find("less than one row"), std::string::npos);
  EXPECT_NE(complaint("n9000000000000000000d250").find("64 bits"), std::string::npos);
  EXPECT_NE(complaint("each9000000000000000000d1").find("64 bits"), std::string::npos);
  EXPECT_NE(complaint("999999999999999TB"), "");
}

TEST(TableProblem, AmountsAreOfOneRun) {
  const TableProblem known("pca", 1000, 10, Precision::fp32, 5e6, 2);
  EXPECT_EQ(known.canonical(), "n1000d10");
  EXPECT_EQ(known.bytes(), 2 * 1000 * 10 * 4);
  EXPECT_EQ(known.amounts().at("input_bytes_per_s"), 1000 * 10 * 4);
  EXPECT_EQ(known.amounts().at("flops_per_s"), 5e6);
  const TableProblem unknown("svm", 1000, 10, Precision::fp64, 0, 0);
  EXPECT_EQ(unknown.amounts().size(), 1u);
  const TableProblem conforms("svm", 1000, 10, Precision::fp64, 0, 0, true);
  EXPECT_EQ(conforms.amounts().at("figure_of_merit"), 1000 * 10 * 8);
}

TEST(TableProblem, RanksShareAllRowsEvenly) {
  for (const std::int64_t rows : {1, 5, 7, 100})
    for (int ranks = 1; ranks <= std::min<std::int64_t>(rows, 9); ++ranks) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const RowRange mine = share_rows(rows, rank, ranks);
        EXPECT_EQ(mine.first, next);
        EXPECT_GE(mine.count, rows / ranks);
        EXPECT_LE(mine.count, rows / ranks + 1);
        next += mine.count;
      }
      EXPECT_EQ(next, rows);
    }
}

}  // namespace test_table_problem
}  // namespace assay
