// `assay table --by precision`: one line for each precision as it was executed.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "analysis/table/table.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace test_precision_table {

using namespace assay;
using nlohmann::json;
using test::has;
using test::result;
using test::row;

/// The table below its title, which has the time of now.
std::string table(const std::vector<json>& rows, TableOptions options = {}) {
  options.by = "precision";
  const std::string text = render_table({{"", result(rows)}}, {}, options);
  return text.substr(text.find('\n') + 1);
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : split(text, '\n'))
    if (has(line, part)) return line;
  return "";
}

struct Execution {
  const char *precision, *compute;
  double seconds, max_error, norm_error, fraction;
};

/// Launches of a row: fp32's become slower, the others' faster, by one in a hundred each.
std::vector<json> launches(const Execution& execution, int count, const Settings& more = {}) {
  std::vector<json> rows;
  Settings settings = more;
  settings["precision"] = execution.precision;
  for (int launch = 0; launch < count; ++launch) {
    const int step = std::string(execution.precision) == "fp32" ? launch : count - 1 - launch;
    json object = row("ok", execution.seconds * (1 + 0.01 * step), launch, settings);
    object["executed"]["storage"] = execution.precision;
    object["executed"]["compute"] = *execution.compute == 0 ? json() : json(execution.compute);
    object["executed"]["accumulate"] = "fp32";
    object["verification"]["max_error"] = execution.max_error;
    object["verification"]["norm_error"] = execution.norm_error;
    object["ceiling"] = {{"flops_per_s", 4e12},
                         {"bytes_per_s", 1e11},
                         {"fraction", execution.fraction},
                         {"bound_by", "compute"}};
    rows.push_back(object);
  }
  return rows;
}

std::vector<json> joined(const std::vector<std::vector<json>>& lists) {
  std::vector<json> all;
  for (const std::vector<json>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

const Execution fp32{"fp32", "fp32", 8e-3, 1.3e-6, 2.2e-7, 0.84};
const Execution bf16{"bf16", "bf16", 2e-3, 8e-3, 1.7e-3, 0.42};
const Execution fp16{"fp16", "fp32", 10e-3, 1.8e-3, 2.1e-4, 0.67};

TEST(PrecisionTable, Golden) {
  std::vector<json> rows = joined({launches(bf16, 6), launches(fp16, 6), launches(fp32, 6)});
  rows.push_back(row("unsupported", 0, 0, {{"precision", "tf32"}}));
  EXPECT_EQ(
      table(rows),
      R"(all rows: direction forward, backend onednn, algorithm direct, cache hot, nodes 1, ranks 1, threads 2

precision                         time  speedup  95 % interval  max error  norm error    of ceiling
-----------------------------  -------  -------  -------------  ---------  ----------  ------------
list/first
fp32                           8.20 ms        1              -    1.3e-06     2.2e-07  84 % compute
tf32                           unsupported: why it is unsupported
bf16                           2.05 ms        4    3.81 .. 4.2    8.0e-03     1.7e-03  42 % compute
fp16 storage, fp32 arithmetic  10.2 ms      0.8  0.762 .. 0.84    1.8e-03     2.1e-04  67 % compute

speedup: time of fp32 / time of the row, above 1 the row is faster; the median over the launches that have both, and the
  interval of it. fp32 is the fastest fp32 row of the same problem, backend and settings, by any algorithm.
bf16, fp16: the inputs have 16 bits; the error of rounding fp32 data to them is not included (that of tf32 is).
X storage, Y arithmetic: the tensors are X, the products are formed in Y. This is neither X nor Y.
error: largest error / RMS of the fp64 reference.
norm error: 2-norm of the errors / 2-norm of the fp64 reference.
of ceiling: least time that the peak arithmetic and the memory or cache with the data allow (measured around the row by
  assay-stream) / time, and which of them limits.
Several launches: time is the median of the launch medians.
ceilings, measured: bf16 with 2 threads 4.00 TFLOP/s, fp16 with 2 threads 4.00 TFLOP/s, fp32 with 2 threads 4.00
  TFLOP/s; memory with 2 threads 100 GB/s; theoretical: unknown.
Not shown, to fit 120 characters: executed (--columns all shows them).

3 ok, 1 unsupported
)");
}

TEST(PrecisionTable, APageHasWhatWasExecuted) {
  const std::string text =
      table(joined({launches(fp32, 6), launches(bf16, 6), launches(fp16, 6)}), {.markdown = true});
  EXPECT_TRUE(has(line_with(text, "max error"), "| executed |")) << text;
  EXPECT_TRUE(has(line_with(text, "| bf16 "), "| bf16/bf16/fp32 | 42 % compute |")) << text;
  EXPECT_TRUE(has(line_with(text, "| fp16 "), "| fp16/fp32/fp32 | 67 % compute |")) << text;
}

TEST(PrecisionTable, ArithmeticThatIsNotThePrecisionsHasAColumnOfItsOwn) {
  const std::string text = table(joined({launches(fp32, 6), launches(fp16, 6)}));
  EXPECT_TRUE(has(line_with(text, "fp16"), "fp16 storage, fp32 arithmetic")) << text;
  EXPECT_FALSE(RE2::PartialMatch(text, R"(\nfp16  )")) << text;
  EXPECT_TRUE(has(text, "X storage, Y arithmetic")) << text;
}

/// The reference has the inputs of the row: of bf16_fp32 its error is that of fp32 sums alone.
TEST(PrecisionTable, ErrorsOf16BitsLeaveOutTheRoundingOfInputs) {
  const Execution mixed{"bf16_fp32", "bf16", 2e-3, 1.4e-6, 1.4e-7, 0.42},
      tf32{"tf32", "tf32", 2e-3, 1e-3, 3e-4, 0.42};
  const std::string note = "rounding fp32 data to them is not included";
  for (const Execution& narrow : {mixed, bf16, fp16})
    EXPECT_TRUE(has(table(joined({launches(fp32, 6), launches(narrow, 6)})), note));
  EXPECT_FALSE(has(table(joined({launches(fp32, 6), launches(tf32, 6)})), note));
}

TEST(PrecisionTable, ARowWithoutFp32HasItsTimeAndAReason) {
  const std::string text = table(launches(bf16, 6));
  const std::string line = line_with(text, "bf16 ");
  EXPECT_TRUE(has(line, "2.05 ms")) << text;
  EXPECT_TRUE(has(text, "No speedup (-): list/first, bf16: there is no fp32 row")) << text;
}

TEST(PrecisionTable, AWrongRowHasNoNumberAndIsNoReference) {
  std::vector<json> rows = joined({launches(fp32, 6), launches(bf16, 5)});
  rows.push_back(row("incorrect", 2e-3, 5, {{"precision", "bf16"}}));
  const std::string text = table(rows);
  EXPECT_TRUE(has(line_with(text, "bf16 "), "incorrect: in 1 of 6 launches")) << text;
  EXPECT_FALSE(RE2::PartialMatch(line_with(text, "bf16 "), R"(\d (ms|%)|\de-\d)")) << text;
  std::vector<json> wrong = joined({launches(fp32, 5), launches(bf16, 6)});
  wrong.push_back(row("incorrect", 2e-3, 5));
  const std::string without = table(wrong);
  EXPECT_TRUE(has(without, "its fp32 is incorrect")) << without;
  EXPECT_FALSE(has(line_with(without, "bf16 "), " .. ")) << without;
}

TEST(PrecisionTable, FewLaunchesHaveARangeAndOneHasNothing) {
  const std::string few = table(joined({launches(fp32, 3), launches(bf16, 3)}));
  EXPECT_TRUE(has(line_with(few, "speedup "), "range")) << few;
  EXPECT_FALSE(has(line_with(few, "speedup "), "95 %")) << few;
  const std::string one = table(joined({launches(fp32, 1), launches(bf16, 1)}));
  EXPECT_TRUE(has(one, "a single launch has no interval")) << one;
  EXPECT_TRUE(has(table(joined({launches(fp32, 6), launches(bf16, 4)})),
                  "list/first, bf16: 4 of 6 launches have both"));
}

TEST(PrecisionTable, IntervalsOfTimeAndOfSpeedupHaveTitlesOfTheirOwn) {
  for (const int count : {3, 6}) {
    const std::string text =
        table(joined({launches(fp32, count), launches(bf16, count)}),
              {.columns = {"time", "interval", "speedup", "speedup_interval"}});
    const std::string title = count < 6 ? "range" : "95 % interval";
    EXPECT_TRUE(RE2::PartialMatch(text, title + " of time +speedup +" + title)) << text;
  }
}

TEST(PrecisionTable, WhatAFilterLeavesOutIsStillSetBeside) {
  const std::string text =
      table(joined({launches(fp32, 6), launches(bf16, 6)}), {.filter = {"precision=bf16"}});
  EXPECT_TRUE(RE2::PartialMatch(line_with(text, "bf16 "), R"(2\.05 ms +4 )")) << text;
  EXPECT_FALSE(has(text, "\nfp32")) << text;
}

TEST(PrecisionTable, SortedByTimeWithinAProblem) {
  const std::string text = table(joined({launches(fp32, 6), launches(bf16, 6)}), {.sort = "time"});
  EXPECT_LT(text.find("\nbf16"), text.find("\nfp32")) << text;
}

TEST(PrecisionTable, ASpeedupHasTheMarkOfItsWorseSide) {
  std::vector<json> rows = joined({launches(fp32, 6), launches(bf16, 6)});
  EXPECT_FALSE(has(line_with(table(rows), "bf16 "), "!"));
  rows[2]["time_s"]["stolen"] = 0.5;
  EXPECT_TRUE(RE2::PartialMatch(line_with(table(rows), "bf16 "), R"(2\.05 ms +4! )"))
      << table(rows);
}

TEST(PrecisionTable, AlgorithmsHaveAColumnWhereTheyDifferWithinAProblem) {
  const std::vector<json> direct = joined({launches(fp32, 6), launches(bf16, 6)});
  EXPECT_TRUE(has(table(direct), "algorithm direct"));
  EXPECT_FALSE(has(line_with(table(direct), "speedup "), "algorithm"));
  const std::string text = table(joined({direct, launches(fp32, 6, {{"algorithm", "winograd"}})}));
  EXPECT_TRUE(has(line_with(text, "max error"), "algorithm")) << text;
}

TEST(PrecisionTable, RecordsHaveTheSameNumbers) {
  const TableOptions options{.by = "precision"};
  const NamedResult named{"", result(joined({launches(fp32, 6), launches(fp16, 6)}))};
  const json rows = table_document({named}, {}, options).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0]["against"].is_null());
  const json& half = rows[1];
  EXPECT_EQ(half["executed_precision"], "fp16 storage, fp32 arithmetic");
  EXPECT_EQ(half["compute"], "fp32");
  EXPECT_EQ(half["against"], "precision fp32");
  EXPECT_NEAR(half["speedup"], 0.8, 1e-3);
  EXPECT_NEAR(half["speedup_low"], 0.8 / 1.05, 1e-12);
  EXPECT_NEAR(half["speedup_high"], 0.8 * 1.05, 1e-12);
  EXPECT_EQ(half["speedup_interval"], "95 %");
  EXPECT_DOUBLE_EQ(half["norm_error"], 2.1e-4);
  EXPECT_DOUBLE_EQ(half["ceiling_fraction"], 0.67);
  EXPECT_TRUE(half["energy_ratio"].is_null());
  EXPECT_TRUE(has(render_csv({named}, {}, options), "fp16 storage, fp32 arithmetic"));
}

}  // namespace test_precision_table
