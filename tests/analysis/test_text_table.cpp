#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/text_table.hpp"
#include "core/text.hpp"

namespace {

using namespace assay;

TEST(TextTable, ColumnsLineUpWhateverTheBytes) {
  const std::string text = terminal_table(
      {{"name"}, {"time", true}, {"rest"}},
      {{{"a", "1 \u00b5s", "x"}, ""}, {{"longer", "1000 ms", "y"}, ""}, {{"b"}, "failed: why"}});
  const auto lines = split(text, '\n');
  EXPECT_EQ(lines[2], "a          1 \u00b5s  x");
  EXPECT_EQ(lines[3], "longer  1000 ms  y");
  EXPECT_EQ(lines[4], "b       failed: why");
  for (const std::string& line : lines) EXPECT_FALSE(line.ends_with(' ')) << line;
}

TEST(TextTable, MarkdownRowsHaveAsManyCellsAsTheHead) {
  const std::string text = markdown_table(
      {{"a|b"}, {"n", true}, {"c"}},
      {{{"x|y", "1", "*"}, ""}, {{"z"}, "incorrect: |e| > 1\nsecond line"}, {{}, ""}});
  const auto lines = split(text, '\n');
  auto cells = [](const std::string& line) {
    int count = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      count += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    return count - 1;
  };
  ASSERT_EQ(lines.size(), 6u);  // head, rule, three rows, the end
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) EXPECT_EQ(cells(lines[i]), 3) << lines[i];
  EXPECT_EQ(lines[1], "|---|---:|---|");
}

}  // namespace
