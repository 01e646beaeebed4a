// Numbers for other programs: the same in CSV and JSON, and by their schema.
#include <gtest/gtest.h>

#include "analysis/load.hpp"
#include "analysis/table/table.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace test_records {

using namespace assay;
using nlohmann::json;

std::vector<NamedResult> measured() {
  json wrong = test::row("incorrect", 2e-3, 0, {{"cache", "cold"}});
  return {{"", test::result({test::row("ok", 2e-3), wrong})}};
}

TEST(TableDocument, FollowsItsSchema) {
  for (const auto& document :
       {table_document(measured(), {}, {}), table_document(measured(), {}, {.by = "cache"}),
        table_document(load_results({"summitdev"}), {Baseline::load("summit")}, {}),
        table_document(load_results({"summitdev"}), {Baseline::load("summit")}, {.by = "smt"})}) {
    const auto errors = find_schema_errors(document, "table", "x");
    EXPECT_TRUE(errors.empty()) << errors.front();
    EXPECT_FALSE(document.at("rows").empty());
  }
}

TEST(TableDocument, HasAllDigitsAndNoNumberOfAWrongRow) {
  const json rows = table_document(measured(), {}, {.sort = "cache:desc"}).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["value"], measured()[0].rows()[0].median());
  EXPECT_EQ(rows[0]["unit"], "s");
  EXPECT_EQ(rows[0]["parameters"]["cache"], "hot");
  EXPECT_EQ(rows[0]["max_error"], 1.5e-7);
  EXPECT_TRUE(rows[0]["against"].is_null());
  EXPECT_EQ(rows[1]["status"], "incorrect");
  for (const char* none : {"value", "unit", "low", "high", "max_error", "speedup"})
    EXPECT_TRUE(rows[1][none].is_null()) << none;
  EXPECT_EQ(rows[1]["reason"], "why it is incorrect");
}

TEST(TableDocument, IsFiltered) {
  EXPECT_EQ(table_document(measured(), {}, {.filter = {"cache=cold"}}).at("rows").size(), 1u);
  const std::string csv = render_csv(measured(), {}, {.filter = {"cache=cold"}});
  EXPECT_EQ(csv.find(",hot,"), std::string::npos) << csv;
}

TEST(TableDocument, SpeedupsAreThoseOfTheTable) {
  const json rows =
      table_document(load_results({"summitdev"}), {Baseline::load("summit")}, {}).at("rows");
  std::size_t matches = 0;
  for (const json& row : rows)
    if (row["id"] == "pca/8GB/smt1") {
      EXPECT_EQ(row["against"], "summit");
      EXPECT_DOUBLE_EQ(row["speedup"].get<double>(),
                       row["against_value"].get<double>() / row["value"].get<double>());
      ++matches;
    }
  EXPECT_EQ(matches, 1u);
}

}  // namespace test_records
