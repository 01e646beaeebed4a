// What a comparison prints: numbers inherit the mark of the launches that they are made of.
#include <gtest/gtest.h>

#include "compare_data.hpp"

namespace assay::test {
namespace {

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(RenderComparison, RatiosAndTheirMeanInheritTheMark) {
  json quiet = joined({launches("a", 1, 6), launches("b", 1, 6)});
  json busy = quiet;
  busy["rows"][0]["time_s"]["stolen"] = 0.5;  // one launch of a
  const std::string plain = render_comparison(compared(quiet, quiet), false);
  EXPECT_EQ(plain.find('!'), std::string::npos) << plain;
  for (const auto& [base, updated] : {std::pair{&busy, &quiet}, std::pair{&quiet, &busy}}) {
    const json document = compared(*base, *updated);
    EXPECT_EQ((*row_of(document, "/a"))["base"]["shared"], base == &busy);
    const std::string text = render_comparison(document, false);
    EXPECT_NE(line_with(text, "fp32/a/").find(" 1.0000! "), std::string::npos) << text;
    EXPECT_EQ(line_with(text, "fp32/b/").find('!'), std::string::npos) << text;
    EXPECT_NE(text.find("new over base: 1.0000!,"), std::string::npos) << text;
    EXPECT_NE(text.find(shared_note), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace assay::test
