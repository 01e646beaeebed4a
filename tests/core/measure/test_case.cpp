#include "core/measure/case.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace assay {
namespace test_case {

const std::vector<Dimension> axes{{"direction", "", {}, {}, "", ""},
                                  {"problem", "", {}, {}, "", ""},
                                  {"threads", "", {}, {}, "t", ""},
                                  {"layout", "", {}, {"any"}, "", "any"}};

TEST(Case, IdNamesEveryDimensionInOrder) {
  EXPECT_EQ(
      make_id("conv", axes,
              {{"direction", "forward"}, {"problem", "mb1"}, {"threads", "2"}, {"layout", "any"}}),
      "conv/forward/mb1/t2");
  EXPECT_EQ(
      make_id("conv", axes,
              {{"direction", "forward"}, {"problem", "mb1"}, {"threads", "2"}, {"layout", "nhwc"}}),
      "conv/forward/mb1/t2/layout=nhwc");
}

TEST(Case, AMissingSettingIsAProgrammingError) {
  EXPECT_THROW(make_id("conv", axes, {{"direction", "forward"}}), std::logic_error);
}

TEST(Case, EqualCasesBecomeOneWithAllNames) {
  const std::vector<Case> merged =
      merge_equal({{"a", {}, {"x"}, false}, {"b", {}, {}, false}, {"a", {}, {"y", "x"}, true}});
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].id, "a");
  EXPECT_EQ(merged[0].names, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(merged[0].required);
  EXPECT_FALSE(merged[1].required);
}

}  // namespace test_case
}  // namespace assay
