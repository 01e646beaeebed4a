#include "core/base/text.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_text {

const std::vector<std::string> backends{"onednn", "reference", "native", "cuda"};

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(join(split("x:y:z", ':'), ":"), "x:y:z");
}

TEST(Text, PlainNamesHoldNothingThatAShellOrAFolderKnows) {
  EXPECT_EQ(plain_name("weekly-2.1_b"), "weekly-2.1_b");
  EXPECT_EQ(plain_name("a b\nc;$(d)/e"), "a_b_c___d__e");
  EXPECT_EQ(plain_name("../up"), "_.._up");
  EXPECT_EQ(plain_name(std::string(300, 'x')).size(), 100U);
}

TEST(Text, NearestFindsSlips) {
  EXPECT_EQ(find_nearest("onednm", backends), "onednn");  // substitution
  EXPECT_EQ(find_nearest("ondnn", backends), "onednn");   // deletion
  EXPECT_EQ(find_nearest("oendnn", backends), "onednn");  // swap
  EXPECT_EQ(find_nearest("referense", backends), "reference");
  EXPECT_EQ(find_nearest("ref", backends), "reference");  // prefix
  EXPECT_EQ(find_nearest("v100", std::vector<std::string>{"summit", "deepbench-v100"}),
            "deepbench-v100");  // any part
}

TEST(Text, NearestIsSilentWhenNothingIsNear) {
  EXPECT_EQ(find_nearest("zzzzzz", backends), "");
  EXPECT_EQ(find_nearest("x", backends), "");
  EXPECT_EQ(find_nearest("anything", {}), "");
}

TEST(Text, UnknownNameTellsValidOnesAndTheNearest) {
  EXPECT_EQ(
      explain_unknown_name("backend", "onednm", backends),
      "unknown backend 'onednm' (valid: onednn, reference, native, cuda). Did you mean 'onednn'?");
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back("name" + std::to_string(i));
  EXPECT_NE(explain_unknown_name("thing", "nome7", many).find("valid: name0, "), std::string::npos);
  many.push_back("name20");
  EXPECT_EQ(explain_unknown_name("thing", "nome7", many),
            "unknown thing 'nome7'. Did you mean 'name7'?");
}

}  // namespace test_text
}  // namespace assay
