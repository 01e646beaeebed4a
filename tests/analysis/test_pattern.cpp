#include "analysis/pattern.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace test_pattern {

using assay::InputError;
using assay::TextPattern;

std::string refusal(const std::string& text) {
  try {
    TextPattern(text, "--filter '" + text + "'");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Pattern, SearchesAsBefore) {
  const std::string id = "conv/forward/fp32/onednn/direct/mb1ic8ih8oc8oh8kh3ph1/hot/t2";
  for (const char* text : {"fp32", "^conv/", "t2$", "conv/.*fp32", "(fp16|fp32)", "mb[0-9]+ic\\d+",
                           "[[:digit:]]+/hot", "\\bhot\\b", "f.{1}32?", "direct(?:/mb1)", ""})
    EXPECT_TRUE(TextPattern(text, "x").in(id)) << text;
  for (const char* text : {"fp16", "^forward", "hot$", "conv/.*fp64", "FP32"})
    EXPECT_FALSE(TextPattern(text, "x").in(id)) << text;
  EXPECT_TRUE(TextPattern().in(id));
}

TEST(Pattern, WhatIsNoneIsRefusedWithItsReason) {
  EXPECT_NE(refusal("(").find("missing )"), std::string::npos) << refusal("(");
  EXPECT_NE(refusal("[a").find("missing ]"), std::string::npos) << refusal("[a");
  // RE2 does not have these, ECMAScript does.
  EXPECT_NE(refusal("(?=a)").find("(?="), std::string::npos) << refusal("(?=a)");
  EXPECT_NE(refusal("(a)\\1").find("\\1"), std::string::npos) << refusal("(a)\\1");
}

TEST(Pattern, WhatRecursesWithoutEndIsRefusedOrBounded) {
  const TextPattern deep(std::string(40000, '(') + "a" + std::string(40000, ')'), "x");
  EXPECT_TRUE(deep.in("cba"));
  EXPECT_FALSE(deep.in("cb"));
  const std::string why = refusal(std::string(40000, '('));
  EXPECT_FALSE(why.empty());
  EXPECT_LT(why.size(), 1000u);
  EXPECT_FALSE(refusal("((a{1000}){1000}){1000}").empty());
  // Exponential where a search goes back, linear here.
  const std::string text(5000, 'a');
  EXPECT_FALSE(TextPattern("^((a*)*)*b$", "x").in(text));
  EXPECT_FALSE(TextPattern("^(a|aa|a?)*$", "x").in(text + "b"));
}

TEST(Pattern, Groups) {
  const TextPattern date("(\\d+)-(\\d+)(?:T(\\d+))?", "x");
  using Groups = std::vector<std::string>;
  EXPECT_EQ(date.match_groups("12-3"), (Groups{"12", "3", ""}));
  EXPECT_EQ(date.match_groups("12-3T4"), (Groups{"12", "3", "4"}));
  EXPECT_FALSE(date.match_groups("12-3T"));
  EXPECT_FALSE(date.match_groups("x12-3"));
}

}  // namespace test_pattern
