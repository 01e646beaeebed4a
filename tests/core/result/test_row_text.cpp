// The indices of a row that is copied as text.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/result/row_text.hpp"

namespace assay {
namespace test_row_text {

using nlohmann::json;

class ShiftedText : public testing::TestWithParam<const char*> {};

TEST_P(ShiftedText, HasTheIndicesOfTheShiftedRow) {
  for (const int environments : {0, 7})
    for (const int brackets : {0, 30}) {
      const json original = json::parse(GetParam());
      for (const std::string& text : {std::string(GetParam()), original.dump(), original.dump(2)}) {
        json expected = original;
        expected["environment"] = original["environment"].get<int>() + environments;
        const json::json_pointer places("/ceiling/brackets");
        if (original.contains(places))
          for (json& place : expected[places]) place = place.get<int>() + brackets;
        EXPECT_EQ(json::parse(shift_numbers(text, environments, brackets)), expected) << text;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ShiftedText,
    testing::Values(
        R"({"environment":12})", R"({ "id" : "a" , "environment" : 0 , "z" : [1] })",
        R"({"ceiling":{"brackets":[0,1],"level":"L1"},"environment":3,"id":"\"environment\":5"})",
        R"({"environment":3,"parameters":{"environment":9,"x":"}"},"ceiling":null})",
        R"({"ceiling":{"fraction":0.1},"environment":3})",
        R"({"a":"\\","b":[{"environment":1},"]"],"c":{},"environment":2,"ceiling":{"brackets":[]}})",
        R"({"a\"":1,"environment":2})", R"({"\u0065nvironment":2})",
        R"({"environment":2,"\u0063eiling":{"brackets":[5]}})"));

TEST(ShiftedText, KeepsAllElseAsItStands) {
  EXPECT_EQ(shift_numbers(R"({"a": 1.50,  "environment": 2, "b":1e3})", 3, 0),
            R"({"a": 1.50,  "environment": 5, "b":1e3})");
  EXPECT_EQ(shift_numbers(R"({"environment": 2, "b":1e3})", 0, 0),
            R"({"environment": 2, "b":1e3})");
}

}  // namespace test_row_text
}  // namespace assay
