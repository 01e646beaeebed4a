// The order of a run whose time may not suffice.
#include <gtest/gtest.h>

#include <algorithm>

#include "runner/run/informative.hpp"

namespace assay {
namespace test_informative {

Case case_of(const std::string& precision, const std::string& threads, bool required = false) {
  Case made;
  made.id = precision + "/" + threads;
  made.settings = {{"precision", precision}, {"threads", threads}};
  made.required = required;
  return made;
}

std::vector<std::string> ordered(const std::vector<Case>& cases) {
  std::vector<std::string> ids;
  for (const std::size_t i : informative_order(cases)) ids.push_back(cases[i].id);
  return ids;
}

TEST(InformativeOrder, ShowsEverySettingBeforeItRepeatsOne) {
  EXPECT_EQ(ordered({case_of("fp32", "1"), case_of("fp32", "2"), case_of("fp32", "4"),
                     case_of("bf16", "1"), case_of("bf16", "2"), case_of("bf16", "4")}),
            (std::vector<std::string>{"fp32/1", "bf16/2", "fp32/4", "fp32/2", "bf16/1", "bf16/4"}));
}

TEST(InformativeOrder, TakesWhatIsRequiredFirstAmongEquals) {
  EXPECT_EQ(ordered({case_of("fp32", "1"), case_of("bf16", "2", true)}).front(), "bf16/2");
}

TEST(InformativeOrder, IsAPermutation) {
  std::vector<Case> cases;
  for (int i = 0; i < 300; ++i)
    cases.push_back(case_of(std::to_string(i % 7), std::to_string(i % 11), i % 5 == 0));
  std::vector<std::size_t> order = informative_order(cases);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  EXPECT_EQ(order.size(), cases.size());
  EXPECT_TRUE(informative_order({}).empty());
}

}  // namespace test_informative
}  // namespace assay
