#include <gtest/gtest.h>

#include <map>

#include "analysis/table/below_rows.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace test_scaling_table {

using nlohmann::json;

/// A training step of assay-resnet50 with `batch` images for each rank.
json training(int ranks, int batch, double seconds) {
  json object = test::row("ok", seconds, 0, {{"batch", std::to_string(batch)}});
  object["id"] = object["id"].get<std::string>() + "/r" + std::to_string(ranks);
  object["benchmark"] = "resnet50";
  object["parameters"]["ranks"] = ranks;
  object["problem"]["amounts"] = {{"images_per_s", batch * ranks}};
  object["problem"]["global_batch_size"] = batch * ranks;
  object["problem"]["shared_by"] = ranks;
  return object;
}

std::string scaling_table(const std::vector<NamedResult>& results) {
  Page page(false);
  add_scaling(page, results, make_series(results));
  return page.text();
}

/// The cells of each line behind its kind, by "weak 8 2": kind, batch and ranks.
std::map<std::string, std::string> lines_of(const std::string& table) {
  std::map<std::string, std::string> points;
  for (const std::string& line : split(table, '\n')) {
    std::string cells;
    for (const std::string& cell : split(line, ' '))
      if (!cell.empty()) cells += (cells.empty() ? "" : " ") + cell;
    if (cells.starts_with("weak ") || cells.starts_with("strong "))
      points[cells.substr(0, cells.find(" ms") + 3)] = cells.substr(cells.find(" ms") + 4);
  }
  return points;
}

TEST(ScalingTable, WeakAndStrongScalingHaveTheirEfficiency) {
  const std::vector<NamedResult> results{
      {"", test::result({training(1, 8, 0.1), training(2, 8, 0.125), training(1, 16, 0.2)})}};
  const std::map<std::string, std::string> expected{
      {"weak list/first 8 1 100 ms", "1.00 100.0 %"},
      {"weak list/first 8 2 125 ms", "1.60 80.0 %"},  // twice the images in 1.25 of the time
      {"strong list/first 16 1 200 ms", "1.00 100.0 %"},
      {"strong list/first 8 2 125 ms", "1.60 80.0 %"}};
  const std::string table = scaling_table(results);
  EXPECT_EQ(lines_of(table), expected) << table;
  EXPECT_NE(table.find("efficiency: speedup / ratio of the numbers of ranks"), std::string::npos);
}

TEST(ScalingTable, IsAbsentWithoutSeveralNumbersOfRanks) {
  json other = test::row("ok", 0.1, 0, {{"threads", "8"}});
  other["parameters"]["threads"] = 8;
  const std::vector<NamedResult> results{
      {"", test::result({test::row("ok", 0.2), other, training(2, 8, 0.125)})}};
  EXPECT_EQ(scaling_table(results), "");
}

}  // namespace test_scaling_table
}  // namespace assay
