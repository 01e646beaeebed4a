#include "analysis/model/formula.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay::test {
namespace test_formula {

std::string terms(const std::string& text) {
  const Formula formula = parse_formula(text);
  std::vector<std::string> all;
  if (formula.intercept) all.push_back("1");
  for (const Term& term : formula.terms) {
    std::vector<std::string> names;
    for (const Factor& factor : term) names.push_back(factor.text());
    all.push_back(join(names, ":"));
  }
  return formula.response.text() + " ~ " + join(all, " + ");
}

std::string refusal(const std::string& text) {
  try {
    parse_formula(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Formula, Terms) {
  EXPECT_EQ(terms("log(time) ~ architecture + log(size) + workload + threads"),
            "log(time) ~ 1 + architecture + log(size) + workload + threads");
  EXPECT_EQ(terms("time~a*b"), "time ~ 1 + a + b + a:b");
  EXPECT_EQ(terms("time ~ a:b + a"), "time ~ 1 + a + a:b");
  EXPECT_EQ(terms("time ~ a*b*factor(c)"),
            "time ~ 1 + a + b + factor(c) + a:b + a:factor(c) + b:factor(c) + a:b:factor(c)");
  EXPECT_EQ(terms("time ~ a + b + b:a + a*b"), "time ~ 1 + a + b + b:a");
  EXPECT_EQ(terms("time ~ a:a + a*a"), "time ~ 1 + a");
  EXPECT_EQ(terms("time ~ a + log(a)"), "time ~ 1 + a + log(a)");
  EXPECT_EQ(terms("rate.flops_per_s ~ sqrt(mb_2)"), "rate.flops_per_s ~ 1 + sqrt(mb_2)");
  EXPECT_EQ(terms(" log2( time )\t~ 1 "), "log2(time) ~ 1");
}

TEST(Formula, Intercept) {
  for (const char* text : {"y ~ a - 1", "y ~ 0 + a", "y ~ a + 0", "y ~ -1 + a"})
    EXPECT_EQ(terms(text), "y ~ a") << text;
  EXPECT_EQ(terms("y ~ a + 1"), "y ~ 1 + a");
  EXPECT_EQ(terms("y ~ a - 0"), "y ~ 1 + a");
}

TEST(Formula, RefusesWithThePlace) {
  for (const auto& [text, place, part] :
       std::vector<std::array<std::string, 3>>{{"", "1", "found the end"},
                                               {"time", "5", "'~'"},
                                               {"time ~", "7", "the name of a column"},
                                               {"time ~ a +", "11", "found the end"},
                                               {"time ~ a b", "10", "found 'b'"},
                                               {"time ~ a ** b", "11", "found '*'"},
                                               {"time ~ lgo(a)", "8", "Did you mean 'log'"},
                                               {"time ~ log(a", "13", "')'"},
                                               {"time ~ log(log(a))", "15", "')'"},
                                               {"time ~ (a + b):c", "8", "found '('"},
                                               {"time ~ a - b", "12", "only the intercept"},
                                               {"time ~ 2", "8", "found '2'"},
                                               {"time ~ 10", "8", "0 and 1"},
                                               {"time ~ a ~ b", "10", "found '~'"},
                                               {"log(time) ~ time", "1", "both sides"},
                                               {"factor(time) ~ a", "1", "factor"},
                                               {"time ~ 0", "9", "no term"},
                                               {"time ~ a*b*c*d*e*f*g", "8", "more than 6"},
                                               {"time ~ a; rm", "9", "found ';'"}}) {
    const std::string said = refusal(text);
    EXPECT_TRUE(said.find("at character " + place + ":") != std::string::npos) << text << said;
    EXPECT_TRUE(said.find(part) != std::string::npos) << text << ": " << said;
  }
}

}  // namespace test_formula
}  // namespace assay::test
