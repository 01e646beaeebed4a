// Ceilings of several ranks, and what is measured for whom.
#include <gtest/gtest.h>

#include "runner/ceilings/ceiling_bracket.hpp"
#include "tests/runner/ceilings/ceiling_rows.hpp"

namespace test_ceiling_ranks {

using namespace assay;
using namespace test::ceilings;

/// The rate of each of two ranks beside the other: half of that of one alone.
json of_two_ranks() {
  json together = plain();
  for (json& row : together["rows"]) {
    row["parameters"]["ranks"] = 2;
    row["time_s"]["min"] = 2 * row["time_s"]["min"].get<double>();
  }
  return together;
}

json on_two_ranks(json row, int shared_by) {
  row["parameters"]["ranks"] = 2;
  row["problem"]["shared_by"] = shared_by;
  return row;
}

TEST(Ceiling, OfRanksThatShareAProblemIsThatOfAllOfThem) {
  const std::vector<json> brackets{plain(), of_two_ranks()};
  const json row = with_ceiling(on_two_ranks(row_of(2, 1e12, 0), 2), brackets, {0, 1});
  ASSERT_TRUE(row["ceiling"].is_object()) << row["ceiling_reason"];
  EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 1e12);
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.5);
  const json each = with_ceiling(on_two_ranks(row_of(2, 5e11, 0), 1), brackets, {0, 1});
  EXPECT_DOUBLE_EQ(each["ceiling"]["flops_per_s"], 5e11);
  EXPECT_DOUBLE_EQ(each["ceiling"]["fraction"], 0.5);
  json unknown = on_two_ranks(row_of(2, 1e12, 0), 1);
  unknown["problem"].erase("shared_by");
  EXPECT_TRUE(with_ceiling(unknown, brackets, {0, 1})["ceiling"].is_null());
}

TEST(Ceiling, RanksOfANodeShareItsLastCache) {
  // Each rank's part lies in L3, all parts together do not; either way of telling it is one truth.
  const double part = 0.75 * cache, from_memory = 2 * part - cache;
  for (const int sharers : {1, 2}) {
    const json row =
        with_ceiling(on_two_ranks(row_of(4e-3, 0, sharers * part), sharers), {of_two_ranks()}, {0});
    ASSERT_TRUE(row["ceiling"].is_object()) << row["ceiling_reason"];
    EXPECT_EQ(row["ceiling"]["bound_by"], "memory");
    EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], from_memory / 1e10 / 4e-3);
    EXPECT_DOUBLE_EQ(row["ceiling"]["memory_bytes"], from_memory * sharers / 2);
    EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 1e10 * sharers / 2);
  }
}

TEST(Ceiling, APassOverDataInACacheComesFromThere) {
  json row = row_of(1e-2, 0, 10 * 1e7);  // more than L3 holds in all, less in each pass
  row["problem"]["passes"] = 10;
  const json found = with_ceiling(row, {plain()}, {0})["ceiling"];
  EXPECT_EQ(found["bound_by"], "L3");
  EXPECT_DOUBLE_EQ(found["memory_bytes"], 10 * (1e7 - 2000));
  row["problem"].erase("passes");
  row["problem"].update({{"bytes", 0}, {"size", 1e7}});
  row["executed"]["passes"] = 5;  // known after the run
  EXPECT_DOUBLE_EQ(with_ceiling(row, {plain()}, {0})["ceiling"]["memory_bytes"], 5 * (1e7 - 2000));
}

TEST(Ceiling, NeedsArePrecisionsAndThreadsOfTheCases) {
  PlannedBenchmark conv{"conv", "", {}}, own{"stream", "", {}};
  Case benchmark_case;
  benchmark_case.settings = {{"precision", "bf16"}, {"threads", "4"}};
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings["precision"] = "bf16_fp32";  // whose inputs are bf16
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings = {{"precision", "fp64"}, {"threads", "8"}};
  own.cases.push_back(benchmark_case);
  const CeilingNeeds needs = ceiling_plan({conv, own}, environment()["hardware"]).at({});
  EXPECT_EQ(needs.precisions, std::set<std::string>{"bf16"});
  EXPECT_EQ(needs.threads, std::set<int>{4});
  EXPECT_TRUE(needs.data.empty());  // its bytes are not known
}

TEST(Ceiling, NeedsAreTheLevelsThatMayBoundACase) {
  using Data = std::set<std::pair<int, std::string>>;
  const auto needed = [](std::vector<double> bytes, const std::string& mode) {
    PlannedBenchmark conv{"conv", "", {}};
    Case benchmark_case;
    benchmark_case.settings = {{"precision", "fp32"}, {"threads", "2"}, {"cache", mode}};
    benchmark_case.working_sets = std::move(bytes);
    conv.cases.push_back(benchmark_case);
    return ceiling_plan({conv}, environment()["hardware"]).at({}).data;
  };
  EXPECT_EQ(needed({100}, "hot"), (Data{{2, "read_n125"}}));  // half of 2 x 1000 bytes
  EXPECT_EQ(needed({1e6}, "hot"), (Data{{2, "read_n125"}, {2, "read_n1000"}}));
  EXPECT_EQ(needed({1e9}, "hot"), (Data{{2, "read_n1000"}, {2, "triad"}}));
  EXPECT_EQ(needed({100}, "cold"), (Data{{2, "triad"}}));
  // The row is of a network, whose operations have data of several sizes.
  EXPECT_EQ(needed({100, 1e9}, "hot"), (Data{{2, "read_n125"}, {2, "read_n1000"}, {2, "triad"}}));
}

TEST(Ceiling, NeedsOfSeveralRanksAreMeasuredByAllOfThem) {
  PlannedBenchmark pca{"pca", "", {}}, conv{"conv", "", {}};
  pca.launcher = conv.launcher = {"mpirun", "-n", "2"};
  Case of_ranks, alone;
  alone.settings = {{"precision", "fp32"}, {"threads", "1"}};
  alone.working_sets = {1e9};
  of_ranks = alone;
  of_ranks.settings.insert({{"ranks", "2"}, {"nodes", "1"}});
  pca.cases = {of_ranks};
  conv.cases = {alone};
  const CeilingPlan plan = ceiling_plan({pca, conv}, environment()["hardware"]);
  ASSERT_EQ(plan.size(), 2U);
  using Data = std::set<std::pair<int, std::string>>;
  EXPECT_EQ(plan.at({pca.launcher, false}).data, (Data{{1, "read_n500"}, {1, "triad"}}));
  // Together as much data as one process has: 2 x 500 in L3, STREAM's size in memory.
  const int elements = static_cast<int>(4 * cache / 8 / 2) + 1;
  EXPECT_EQ(plan.at({pca.launcher, true}).data,
            (Data{{1, "read_n500"}, {1, "triad_n" + std::to_string(elements)}}));
}

}  // namespace test_ceiling_ranks
