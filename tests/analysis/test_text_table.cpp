#include <gtest/gtest.h>

#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace test_text_table {

using namespace assay;

TEST(TextTable, ColumnsLineUpWhateverTheBytes) {
  const std::string text = render_terminal_table(
      {{{"name"}, {"time", true}, {"rest"}},
       {{{"a", "1 \u00b5s", "x"}, ""}, {{"longer", "1000 ms", "y"}, ""}, {{"b"}, "failed: why"}}});
  const auto lines = split(text, '\n');
  EXPECT_EQ(lines[2], "a          1 \u00b5s  x");
  EXPECT_EQ(lines[3], "longer  1000 ms  y");
  EXPECT_EQ(lines[4], "b       failed: why");
  for (const std::string& line : lines) EXPECT_FALSE(line.ends_with(' ')) << line;
}

TEST(TextTable, NotesAreWrappedOnATerminalAlone) {
  std::string note = "unavailable: of";
  while (note.size() < 300) note += " a word";
  const std::vector<Line> lines{{{"backend", "1.25 ms"}, ""}, {{"name"}, note}};
  const std::vector<Column> columns{{"name"}, {"time", true}};
  const std::string piped = render_terminal_table({columns, lines});
  EXPECT_NE(piped.find("name     " + note + "\n"), std::string::npos) << "a script reads it whole";
  const std::size_t before = table_width;
  wraps_notes = true;
  std::size_t count = 1000;
  for (const std::size_t width : {80, 100, 120, 200}) {
    table_width = width;
    const std::string text = render_terminal_table({columns, lines});
    const std::vector<std::string> shown = split(text, '\n');
    for (const std::string& line : shown) EXPECT_LE(count_columns(line), width) << text;
    EXPECT_LT(shown.size(), count) << "a wider terminal needs fewer lines";
    count = shown.size();
    std::string words;
    for (std::size_t i = 3; i < shown.size(); ++i)
      for (const std::string& word : split(shown[i], ' '))
        words += word.empty() || word == "name" ? "" : (words.empty() ? "" : " ") + word;
    EXPECT_EQ(words, note);
  }
  table_width = before;
  wraps_notes = false;
}

TEST(TextTable, TitlesAreBrokenWhereATerminalIsTooNarrow) {
  const std::vector<Column> columns{{"precision"}, {"significand bits", true}, {"time"}};
  const std::vector<Line> lines{{{"fp32", "24", std::string(50, 'x')}, ""}};
  const std::string whole = render_terminal_table({columns, lines});
  const std::size_t before = table_width;
  wraps_notes = true;
  table_width = 80;
  EXPECT_EQ(render_terminal_table({columns, lines}), whole) << "it fits";
  table_width = 74;
  const std::vector<std::string> shown = split(render_terminal_table({columns, lines}), '\n');
  ASSERT_EQ(shown.size(), 5u) << render_terminal_table({columns, lines});
  EXPECT_EQ(shown[0], "           significand");
  EXPECT_EQ(shown[1], "precision         bits  time");
  EXPECT_EQ(shown[3], "fp32                24  " + std::string(50, 'x'));
  table_width = before;
  wraps_notes = false;
}

TEST(TextTable, ATerminalShowsWhatHasRoomAndNamesTheRest) {
  const std::string words = "2(p-1) (alpha + beta m/p)";
  const Table table{make_columns({"algorithm", ">of time|1", "rate|2", "formula"}),
                    {{{"ring", "12 %", "98.2 GB/s", words}, ""}, {{"tree"}, "unsupported"}}};
  const std::string whole = render_terminal_table(table);
  const std::size_t before = table_width;
  wraps_notes = true;
  for (const std::size_t width : {60, 54, 48, 40, 30}) {
    table_width = width;
    const std::string text = render_terminal_table(table);
    EXPECT_EQ(text == whole, width >= 55) << text;
    EXPECT_EQ(text.find("Not shown, to ") != std::string::npos, width < 50) << text;
    for (const std::string& line : split(text, '\n')) EXPECT_LE(count_columns(line), width) << text;
    for (const char* word : {"ring", "tree", "unsupported", "2(p-1)", "(alpha", "beta", "m/p)"})
      EXPECT_NE(text.find(word), std::string::npos) << text;
  }
  table_width = before;
  wraps_notes = false;
}

TEST(TextTable, MarkdownRowsHaveAsManyCellsAsTheHead) {
  const std::string text = render_markdown_table(
      {{{"a|b"}, {"n", true}, {"c"}},
       {{{"x|y", "1", "*"}, ""}, {{"z"}, "incorrect: |e| > 1\nsecond line"}, {{}, ""}}});
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

TEST(TextTable, WhatIsNoTextIsShownAsSuch) {
  EXPECT_EQ(visible("a\tb\r\nc"), "a b  c");
  EXPECT_EQ(visible("\x1b[31mred\x07"), "\uFFFD[31mred\uFFFD");
  EXPECT_EQ(visible("\u00b5 \u2020 \U0001F600"), "\u00b5 \u2020 \U0001F600");
  EXPECT_EQ(visible("\xc2\x9b"
                    "1m"),
            "\uFFFD1m");                                     // a control character of ISO 6429
  EXPECT_EQ(visible("a\u202eb\u2066c"), "a\uFFFDb\uFFFDc");  // turns the direction of writing
  EXPECT_EQ(visible("\xff\xc3"), "\uFFFD\uFFFD");            // no UTF-8, and cut off
  EXPECT_EQ(visible("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(visible(std::string("a\0b", 3)), "a\uFFFDb");
}

TEST(TextTable, MarkdownEscapesWhatHasAMeaning) {
  EXPECT_EQ(escape_markdown("a|b`c`*d*_e_<f>[g](h)\n"), R"(a\|b\`c\`\*d\*\_e\_\<f\>\[g\](h) )");
}

TEST(TextTable, CsvByItsRules) {
  const std::string text = render_csv_table(
      {{{"a"}, {"b,c"}, {"d"}},
       {{{"1.5e-07", "say \"x\"", "-3"}, ""}, {{"=1+1", "+x", "@y"}, ""}, {{"-z", "a\nb"}, ""}}});
  EXPECT_EQ(text,
            "a,\"b,c\",d\r\n"
            "1.5e-07,\"say \"\"x\"\"\",-3\r\n"
            "'=1+1,'+x,'@y\r\n"
            "'-z,a b,\r\n");
}

TEST(TextTable, ALongTextIsCutBetweenCharacters) {
  EXPECT_EQ(shorten("12 µs", 5), "12 µs");
  EXPECT_EQ(shorten("12 µs!", 5), "12 µ…");
  EXPECT_EQ(shorten("µµµ", 2), "µ…");
}

TEST(TextTable, ColumnsAreAddedToLinesWithoutANoteAndTakenOut) {
  Table table{{{"problem"}}, {{{"p"}}, {{"q"}, "failed: why"}}};
  table.add({"time", true}, [](std::size_t) { return Cell("1.5 ms!", 1.5e-3); });
  EXPECT_EQ(table.take(0), (std::vector<std::string>{"p", "q"}));
  ASSERT_EQ(table.columns.size(), 1U);
  EXPECT_EQ(table.columns[0].title, "time");
  EXPECT_EQ(table.lines[0].cells, std::vector<std::string>{"1.5 ms!"});
  EXPECT_TRUE(table.lines[1].cells.empty());
}

TEST(TextTable, SpareColumnsAreLeftOutUntilTheTableFits) {
  const std::size_t before = table_width;
  table_width = 10;
  Table table{{{"a"}, {"b", true, "second", 1}, {"c", false, "", 2}}, {{{"1234", "5678", "90"}}}};
  EXPECT_FALSE(table.fits());
  EXPECT_TRUE(table.fits(2));
  EXPECT_EQ(table.leave_out("X tells"), "Not shown, to fit 10 characters: c (X tells).");
  EXPECT_EQ(render_terminal_table(table), "a        b\n----  ----\n1234  5678\n");
  EXPECT_EQ(table.leave_out("X tells"), "");
  table_width = 3;
  EXPECT_EQ(table.leave_out("X tells", "d"), "Not shown of d, to be less wide: second (X tells).");
  EXPECT_EQ(table.columns.size(), 1U) << "a column that is not spare stays";
  table_width = before;
}

TEST(TextTable, RepeatedTextsBecomeLinesAboveTheOthers) {
  Table table{{{"problem"}, {"time"}}, {{{"p", "1"}}, {{"p", "2"}}, {{"q", "3"}}, {{"q", "4"}}}};
  Table apart{table.columns, {{{"p", "1"}}, {{"q", "2"}}, {{"q", "3"}}}};
  EXPECT_EQ(apart.find("problem"), 0U);
  EXPECT_TRUE(apart.take_headings(0).empty()) << "as many lines as it saves";
  EXPECT_TRUE(apart.take_headings(apart.find("none")).empty());
  EXPECT_EQ(apart.columns.size(), 2U);
  table.add_headings(table.take_headings(0));
  EXPECT_EQ(render_terminal_table(table), "time\n----\np\n1\n2\nq\n3\n4\n");
}

TEST(Wrapped, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap("a few words", 20), "a few words");
  EXPECT_EQ(wrap("a few words here", 8), "a few\n  words\n  here");
  EXPECT_EQ(wrap("averylongword b", 5), "averylongword\n  b");
  EXPECT_EQ(wrap("", 5), "");
  // Characters count, not bytes.
  EXPECT_EQ(wrap("\u00b5\u00b5 \u00b5\u00b5", 5), "\u00b5\u00b5 \u00b5\u00b5");
}

}  // namespace test_text_table
