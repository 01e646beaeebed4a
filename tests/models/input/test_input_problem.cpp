#include "models/input/input_problem.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "models/input/input_sets.hpp"

namespace assay {
namespace test_input_problem {

TEST(InputProblem, IsReadAndWritten) {
  EXPECT_EQ(to_text(parse_input("mb16s32")), "n128mb16s32");
  EXPECT_EQ(to_text(parse_input("n64mb16s32")), "n64mb16s32");
  const InputProblem problem(parse_input("n64mb16s32"));
  EXPECT_EQ(problem.canonical(), "n64mb16s32");
  EXPECT_EQ(problem.amounts(), (std::map<std::string, double>{{"images_per_s", 64}}));
  EXPECT_EQ(problem.json(), (nlohmann::json{{"n", 64}, {"mb", 16}, {"s", 32}}));
  for (const char* text :
       {"", "n64", "mb0s32", "mb16s9000", "mb16s32x2", "n9000000000000000000mb1s8000"})
    EXPECT_THROW(parse_input(text), InputError) << text;
}

TEST(InputSets, GeneratedNamesHoldAllFields) {
  EXPECT_EQ(name_generated_set("generated"), "generated:n256c10w500h375q90files8");
  EXPECT_EQ(name_generated_set("generated:n4files2"), "generated:n4c10w500h375q90files2");
  EXPECT_EQ(name_generated_set(name_generated_set("generated:q50")),
            name_generated_set("generated:q50"));
  EXPECT_TRUE(is_generated("generated"));
  EXPECT_FALSE(is_generated("generated-set"));
  for (const char* text : {"generated:", "generated:n4", "generated:n0", "generated:q101",
                           "generated:w99999", "generated:x3"})
    EXPECT_THROW(name_generated_set(text), InputError) << text;
}

}  // namespace test_input_problem
}  // namespace assay
