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
    json end = {{"epoch", epoch}, {"seconds", epoch}, {"training_loss", loss}};
    if (epoch % 2 == 0) end["accuracy"] = 1 - loss / 10;
    row["epochs"].push_back(end);
  }
  return row;
}

std::string table(const std::vector<json>& rows, TableOptions options = {.markdown = true}) {
  return epoch_table({{"", test::result(rows)}}, options);
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
  const std::string csv = epoch_csv(
      {{"", test::result({training("fp32", 2, 2.0 / 3, 0), training("fp32", 2, 4, 1)})}}, {});
  EXPECT_EQ(split(csv, '\n').size(), 1U + 4U + 1U) << csv;
  EXPECT_TRUE(test::has(csv, "0.6666666666666666")) << csv;
}

}  // namespace test_epoch_table
