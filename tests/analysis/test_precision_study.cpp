// A row has the name of the precision that it executed, and stands beside an fp32 row.
#include <gtest/gtest.h>

#include "analysis/precision_study.hpp"
#include "tests/support/rows.hpp"

namespace test_precision_study {

using namespace assay;
using nlohmann::json;
using test::result;
using test::row;

/// A verified row of a precision, `compute` as its library tells it ("": not at all).
json make(const std::string& precision, double seconds, int launch, const std::string& compute,
          double norm_error = 1e-3, const Settings& more = {}) {
  Settings settings = more;
  settings["precision"] = precision;
  json all = row("ok", seconds, launch, settings);
  all["executed"]["storage"] = precision == "tf32" ? "fp32" : precision;
  all["executed"]["compute"] = compute.empty() ? json() : json(compute);
  all["executed"]["accumulate"] = "fp32";
  all["verification"]["norm_error"] = norm_error;
  return all;
}

struct Study {
  explicit Study(std::vector<json> rows)
      : results{{"", result(std::move(rows))}},
        all(make_series(results)),
        groups(group_by_precision(all)) {}
  std::vector<NamedResult> results;
  std::vector<Series> all;
  std::vector<PrecisionGroup> groups;
};

std::string called(const std::vector<json>& rows) {
  return Study(rows).groups.at(0).at(0).precision;
}

TEST(PrecisionStudy, ARowIsCalledByWhatItExecuted) {
  EXPECT_EQ(called({make("bf16", 1, 0, "bf16")}), "bf16");
  EXPECT_EQ(called({make("bf16", 1, 0, "fp32")}), "bf16 storage, fp32 arithmetic");
  EXPECT_EQ(called({make("fp16", 1, 0, "fp32")}), "fp16 storage, fp32 arithmetic");
  EXPECT_EQ(called({make("bf16", 1, 0, "")}), "bf16 storage, arithmetic unknown");
  EXPECT_EQ(called({make("int8", 1, 0, "")}), "int8 storage, arithmetic unknown");
  // A mixed one multiplies its 16-bit inputs.
  EXPECT_EQ(called({make("bf16_fp32", 1, 0, "bf16")}), "bf16_fp32");
  EXPECT_EQ(called({make("bf16_fp32", 1, 0, "fp32")}), "bf16_fp32 storage, fp32 arithmetic");
  // The bounds of fp32 exclude what is coarser, whether the library tells or not.
  EXPECT_EQ(called({make("fp32", 1, 0, "", 1e-7)}), "fp32");
  EXPECT_EQ(called({make("fp32", 1, 0, "fp64", 1e-8)}), "fp32 storage, fp64 arithmetic");
  // Launches that do not agree prove nothing.
  EXPECT_EQ(called({make("bf16", 1, 0, "bf16"), make("bf16", 1, 1, "fp32")}),
            "bf16 storage, arithmetic unknown");
  EXPECT_EQ(called({row("unsupported", 0, 0, {{"precision", "bf16"}})}), "bf16");
}

TEST(PrecisionStudy, Tf32IsToldFromFp32ByItsErrors) {
  EXPECT_EQ(called({make("tf32", 1, 0, "tf32", 3e-4)}), "tf32");
  // A library that promotes it, whatever it says.
  for (const char* told : {"tf32", ""})
    EXPECT_EQ(called({make("tf32", 1, 0, told, 3e-7)}), "fp32 storage, fp32 arithmetic");
  // One launch with tf32's errors is enough: errors of tf32 do not come from fp32.
  EXPECT_EQ(called({make("tf32", 1, 0, "tf32", 3e-7), make("tf32", 1, 1, "tf32", 3e-4)}), "tf32");
}

TEST(PrecisionStudy, SpeedupsOfAnEvenNumberOfPairsAreGeometricMeans) {
  // Two launches, one ten times slower on either side: neither precision is faster.
  const std::vector<json> rows{make("fp32", 1e-3, 0, "fp32", 1e-7), make("bf16", 10e-3, 0, "bf16"),
                               make("fp32", 10e-3, 1, "fp32", 1e-7), make("bf16", 1e-3, 1, "bf16")};
  const PrecisionRow row = Study(rows).groups.at(0).at(1);
  ASSERT_TRUE(row.speedup);
  EXPECT_NEAR(row.speedup->value, 1, 1e-3);
}

TEST(PrecisionStudy, SpeedupsAreOfPairsOfLaunches) {
  std::vector<json> rows;
  // The machine is 2 times slower in every other launch: each pair says 4, the medians do not.
  for (int launch = 0; launch < 6; ++launch) {
    const double machine = launch % 2 == 0 ? 1e-3 : 2e-3;
    rows.push_back(make("fp32", 4 * machine, launch, "fp32", 1e-7));
    if (launch != 0) rows.push_back(make("bf16", machine, launch, "bf16"));
  }
  rows.push_back(make("bf16", 1e-3, 0, "bf16"));
  const Study study(rows);
  ASSERT_EQ(study.groups.size(), 1U);
  const PrecisionGroup& group = study.groups[0];
  ASSERT_EQ(group.size(), 2U);
  EXPECT_EQ(group[0].precision, "fp32");
  EXPECT_TRUE(group[0].is_reference());
  ASSERT_TRUE(group[1].speedup && group[1].speedup->interval);
  EXPECT_DOUBLE_EQ(group[1].speedup->value, 4);
  EXPECT_DOUBLE_EQ(group[1].speedup->interval->low, 4);
  EXPECT_DOUBLE_EQ(group[1].speedup->interval->high, 4);
  EXPECT_FALSE(group[1].speedup->is_range);
  EXPECT_EQ(group[1].speedup->pairs, 6U);
  EXPECT_EQ(group[1].note, "");
}

TEST(PrecisionStudy, LaunchesThatAreMissingAreTold) {
  std::vector<json> rows;
  for (int launch = 0; launch < 6; ++launch) {
    if (launch != 2) rows.push_back(make("fp32", 4e-3 + launch * 1e-4, launch, "fp32", 1e-7));
    if (launch < 4) rows.push_back(make("bf16", 1e-3, launch, "bf16"));
  }
  const PrecisionRow half = Study(rows).groups.at(0).at(1);
  ASSERT_TRUE(half.speedup);
  EXPECT_EQ(half.speedup->pairs, 3U);
  EXPECT_TRUE(half.speedup->is_range);
  EXPECT_DOUBLE_EQ(half.speedup->interval->low, 4);
  EXPECT_DOUBLE_EQ(half.speedup->interval->high, 4.3);
  EXPECT_EQ(half.note, "3 of 5 launches have both this row and its fp32");
  const PrecisionRow apart =
      Study({make("fp32", 1, 0, "fp32", 1e-7), make("bf16", 1, 1, "bf16")}).groups.at(0).at(1);
  EXPECT_FALSE(apart.speedup);
  EXPECT_EQ(apart.note, "no launch has both this row and its fp32");
  const PrecisionRow single =
      Study({make("fp32", 2, 0, "fp32", 1e-7), make("bf16", 1, 0, "bf16")}).groups.at(0).at(1);
  EXPECT_DOUBLE_EQ(single.speedup->value, 2);
  EXPECT_FALSE(single.speedup->interval) << "one launch has no spread";
}

TEST(PrecisionStudy, WithoutAVerifiedFp32ThereIsNoSpeedup) {
  const auto why = [](const std::vector<json>& rows) {
    const Study study(rows);
    for (const PrecisionRow& row : study.groups.at(0))
      if (row.series->parameter("precision") == "bf16") {
        EXPECT_FALSE(row.speedup);
        return row.note;
      }
    return std::string("no bf16");
  };
  const json half = make("bf16", 1e-3, 0, "bf16");
  EXPECT_EQ(why({half}), "there is no fp32 row of the same work");
  EXPECT_EQ(why({half, row("incorrect", 4e-3)}), "its fp32 is incorrect");
  EXPECT_EQ(why({half, row("unsupported", 0)}), "its fp32 is unsupported");
  EXPECT_EQ(why({half, make("fp32", 4e-3, 0, "fp64", 1e-8)}),
            "its fp32 is fp32 storage, fp64 arithmetic");
  // One wrong launch takes the number of all.
  EXPECT_EQ(why({half, make("fp32", 4e-3, 0, "fp32", 1e-7), row("incorrect", 4e-3, 1)}),
            "its fp32 is incorrect");
  // Another problem or backend is other work.
  EXPECT_EQ(
      Study({half, make("fp32", 4e-3, 0, "fp32", 1e-7, {{"backend", "native"}})}).groups.size(),
      2U);
}

TEST(PrecisionStudy, AnotherNumberOfOperationsIsOtherWork) {
  // An example is peak/fma: an update of a value is one multiply-add in fp32, two in bf16.
  json half = make("bf16", 1e-3, 0, "bf16"), fp32 = make("fp32", 1e-3, 0, "fp32", 1e-7);
  half["problem"]["flops"] = 2e9;
  half["energy_j"] = fp32["energy_j"] = 1;
  half["energy_domains_j"] = fp32["energy_domains_j"] = {{"package-0", 1}};
  const PrecisionRow row = Study({fp32, half}).groups.at(0).at(1);
  EXPECT_FALSE(row.speedup);
  EXPECT_FALSE(row.energy);
  EXPECT_EQ(row.note, "its fp32 executes 1.00 GFLOP, this row 2.00 GFLOP");
}

TEST(PrecisionStudy, TheFastestFp32OfAnyAlgorithmCounts) {
  const Study study({make("fp32", 4e-3, 0, "fp32", 1e-7), make("bf16", 1e-3, 0, "bf16"),
                     make("fp32", 2e-3, 0, "fp32", 1e-6, {{"algorithm", "winograd"}})});
  ASSERT_EQ(study.groups.at(0).size(), 3U);
  EXPECT_DOUBLE_EQ(study.groups[0][0].speedup->value, 0.5);
  EXPECT_TRUE(study.groups[0][1].is_reference());
  EXPECT_DOUBLE_EQ(study.groups[0][2].speedup->value, 2);
}

TEST(PrecisionStudy, JoulesAreComparedWhereBothRowsHaveThem) {
  const auto with = [](json object, double joules) {
    object["energy_j"] = joules;
    object["energy_domains_j"] = {{"package-0", joules}};
    return object;
  };
  const json wide = make("fp32", 2, 0, "fp32", 1e-7), narrow = make("bf16", 1, 0, "bf16");
  EXPECT_FALSE(Study({wide, with(narrow, 2)}).groups.at(0).at(1).energy);
  EXPECT_DOUBLE_EQ(Study({with(wide, 6), with(narrow, 2)}).groups.at(0).at(1).energy->value, 3);
  json other = with(narrow, 2);
  other["energy_domains_j"] = {{"gpu 0", 2}};
  EXPECT_FALSE(Study({with(wide, 6), other}).groups.at(0).at(1).energy) << "another counter";
}

TEST(PrecisionStudy, NormErrorIsTheLargestOfTheLaunches) {
  const Study study({make("bf16", 1, 0, "bf16", 1e-3), make("bf16", 1, 1, "bf16", 2e-3)});
  EXPECT_DOUBLE_EQ(*largest_norm_error(study.all[0]), 2e-3);
  json none = make("bf16", 1, 1, "bf16");
  none["verification"]["norm_error"] = nullptr;
  EXPECT_FALSE(largest_norm_error(Study({make("bf16", 1, 0, "bf16"), none}).all[0]));
}

}  // namespace test_precision_study
