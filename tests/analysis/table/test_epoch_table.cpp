// `assay table --epochs`: loss and accuracy of trainings by epoch and precision.
#include <gtest/gtest.h>

#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace test_epoch_table {

using namespace assay;
using nlohmann::json;

/// A training whose loss falls from `loss` by halves.
json training(const std::string& precision, int epochs, double loss, int launch = 0,
              const std::string& status = "ok", Settings more = {}) {
  more["precision"] = precision;
  json row = test::row(status, 1, launch, more);
  if (status != "ok") return row;
  for (int epoch = 1; epoch <= epochs; ++epoch, loss /= 2) {
    json end = {{"epoch", epoch},
                {"seconds", epoch},
                {"training_loss", loss},
                {"images_per_s", 100 * loss}};
    if (epoch % 2 == 0) end["accuracy"] = 1 - loss / 10;
    row["epochs"].push_back(end);
  }
  return row;
}

std::string table(const std::vector<json>& rows, TableOptions options = {.markdown = true}) {
  return render_epoch_table({{"", test::result(rows)}}, options);
}

/// The lines of a table in Markdown, without its head.
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with("|")) found.push_back(line);
  return {found.begin() + 2, found.end()};
}

using Lines = std::vector<std::string>;

TEST(EpochTable, PrecisionsStandBesideEachOther) {
  const std::string text = table({training("fp32", 2, 2), training("bf16", 3, 2.4)});
  EXPECT_TRUE(
      test::has(text, "| epoch | loss fp32 | loss bf16 | accuracy fp32 | accuracy bf16 |") ||
      test::has(text, "| epoch | loss bf16 | loss fp32 | accuracy bf16 | accuracy fp32 |"))
      << text;
  const std::vector<std::string> all = lines(text);
  ASSERT_EQ(all.size(), 3U) << text;
  for (const char* cell : {" 1 |", " 2.0000 |", " 2.4000 |"})
    EXPECT_TRUE(test::has(all[0], cell)) << cell << all[0];
  EXPECT_TRUE(test::has(all[0], " - |")) << "not validated after the first epoch: " << all[0];
  for (const char* cell : {" 1.0000 |", " 1.2000 |", " 0.9000 |", " 0.8800 |"})
    EXPECT_TRUE(test::has(all[1], cell)) << cell << all[1];
  EXPECT_TRUE(test::has(all[2], " - |")) << "fp32 has ended: " << all[2];
}

TEST(EpochTable, OtherParametersMakeLines) {
  const std::string text = table({training("fp32", 1, 2, 0, "ok", {{"trial", "0"}}),
                                  training("fp32", 1, 3, 0, "ok", {{"trial", "1"}})});
  ASSERT_EQ(lines(text).size(), 2U) << text;
  EXPECT_TRUE(test::has(text, "trial"));
  TableOptions by{.markdown = true, .by = "trial"};
  const std::string beside = table({training("fp32", 1, 2, 0, "ok", {{"trial", "0"}}),
                                    training("fp32", 1, 3, 0, "ok", {{"trial", "1"}})},
                                   by);
  EXPECT_EQ(lines(beside).size(), 1U) << beside;
  EXPECT_TRUE(test::has(beside, "| loss 0 | loss 1 |")) << beside;
}

/// Ways to be parallel differ in speed, and cut the same samples into other batches.
TEST(EpochTable, WaysToBeParallelStandBelowEachOther) {
  TableOptions by{.markdown = true, .by = "parallel"};
  const auto way = [](const char* name, double loss, const char* batch, const char* passes = "1") {
    return training("fp32", 2, loss, 0, "ok",
                    {{"parallel", name}, {"batch", batch}, {"accumulate", passes}});
  };
  const std::string text =
      table({way("async", 3, "16"), way("pipeline:2", 1, "4", "8"), way("sync", 2, "16")}, by);
  EXPECT_TRUE(test::has(text, "| epoch | parallel | images/s | over sync | loss | accuracy |"))
      << text;
  const std::vector<std::string> all = lines(text);
  ASSERT_EQ(all.size(), 6U) << text;
  EXPECT_TRUE(test::has(all[0], "| 1 | sync | 200 | 1.00 | 2.0000 | - |")) << text;
  EXPECT_TRUE(test::has(all[1], "| 1 | async | 300 | 1.50 | 3.0000 | - |")) << text;
  EXPECT_TRUE(test::has(all[2], "| 1 | pipeline:2 | 100 | 0.50 |")) << text;
  EXPECT_TRUE(test::has(all[4], "| 2 | async | 150 | 1.50 | 1.5000 | 0.8500 |")) << text;
  // Trainings with other samples are not compared, and none is left out.
  const std::string two = table({way("sync", 2, "16"), way("sync", 4, "64"),
                                 way("stale:1", 3, "16"), way("stale:1", 5, "64")},
                                by);
  ASSERT_EQ(lines(two).size(), 8U) << two;
  for (const char* line : {"| 16 | 1 | sync | 200 | 1.00 |", "| 16 | 1 | stale:1 | 300 | 1.50 |",
                           "| 64 | 1 | sync | 400 | 1.00 |", "| 64 | 1 | stale:1 | 500 | 1.25 |"})
    EXPECT_TRUE(test::has(two, line)) << line << two;
  const std::string cut = table({way("sync", 2, "16"), way("sync", 4, "8", "2")}, by);
  EXPECT_EQ(lines(cut).size(), 4U) << cut;
  json other = way("sync", 4, "16");
  other["problem"]["descriptor"] = other["id"] = "another";
  other["names"] = json::array({"another"});
  EXPECT_TRUE(test::has(table({way("sync", 2, "16"), other}, by), "| another | 1 | sync | 400 |"));
}

TEST(EpochTable, OnlyVerifiedTrainingsAndTheMedianOfAllLaunches) {
  // A launch that ended a epoch before the others leaves no median.
  const std::string text =
      table({training("fp32", 2, 2, 0), training("fp32", 2, 4, 1), training("fp32", 1, 3, 2)});
  const std::vector<std::string> all = lines(text);
  ASSERT_EQ(all.size(), 2U) << text;
  EXPECT_TRUE(test::has(all[0], " 3.0000 |")) << text;
  EXPECT_TRUE(test::has(all[1], " - |")) << text;
  EXPECT_TRUE(test::has(text, "the median of all"));
  EXPECT_THROW(table({training("fp32", 2, 2, 0, "target missed")}), InputError);
  EXPECT_THROW(table({test::row("ok", 1)}), InputError);
}

TEST(EpochTable, CsvHasEveryLaunchWithAllDigits) {
  const std::string csv = make_csv(make_epoch_records(
      {{"", test::result({training("fp32", 2, 2.0 / 3, 0), training("fp32", 2, 4, 1)})}}, {}));
  EXPECT_EQ(split(csv, '\n').size(), 1U + 4U + 1U) << csv;
  EXPECT_TRUE(test::has(csv, "0.6666666666666666")) << csv;
}

}  // namespace test_epoch_table
