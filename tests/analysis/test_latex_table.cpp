// Tables as LaTeX.
#include <gtest/gtest.h>

#include "analysis/page.hpp"
#include "analysis/text_table.hpp"

namespace assay {
namespace test_latex_table {

Table table_of(const std::vector<std::string>& titles,
               const std::vector<std::vector<std::string>>& rows) {
  Table table{make_columns(titles)};
  for (const auto& row : rows) table.lines.push_back({row});
  return table;
}

/// The lines of the tabular between its rules.
std::vector<std::string> body(const Table& table) {
  std::vector<std::string> lines;
  std::string rest = render_latex_table(table);
  rest.erase(0, rest.find("\\midrule\n") + 9);
  rest.erase(rest.find("\\bottomrule"));
  for (std::size_t end; (end = rest.find(" \\\\\n")) != std::string::npos; rest.erase(0, end + 4))
    lines.push_back(rest.substr(0, end));
  EXPECT_EQ(rest, "");
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LatexText, EscapesWhatLatexWouldRead) {
  EXPECT_EQ(escape_latex("50 % of a_b & #1, {x} $y$"), "50 \\% of a\\_b \\& \\#1, \\{x\\} \\$y\\$");
  EXPECT_EQ(escape_latex("2^3 ~ \\end<a|b>"),
            "2\\textasciicircum{}3 \\textasciitilde{} "
            "\\textbackslash{}end\\textless{}a\\textbar{}b\\textgreater{}");
  EXPECT_EQ(escape_latex("3 \u00b5s \u2192 4 \u00b0"), "3 $\\mu$s $\\rightarrow$ 4 $^\\circ$");
  EXPECT_EQ(escape_latex("--base a-b"), "-{}-base a-b") << "two hyphens would be a dash";
  EXPECT_EQ(escape_latex("a\x1b[1m\nb"), "a\uFFFD{[}1m b");
}

TEST(LatexTable, IsATabularOfBooktabs) {
  EXPECT_EQ(render_latex_table(table_of({"name", ">n"}, {{"a_b", "1"}, {"c", "12"}})),
            "\\begin{tabular}{lr}\n\\toprule\nname & n \\\\\n\\midrule\na\\_b & 1 \\\\\nc & 12 "
            "\\\\\n\\bottomrule\n\\end{tabular}\n");
}

TEST(LatexTable, HeadsHaveTheUnitsAndPointsAreBelowEachOther) {
  const Table times = table_of({">time"}, {{"12.3 ms"}, {"1.23 ms!"}, {"789 \u00b5s"}, {"-"}});
  EXPECT_NE(render_latex_table(times).find("\ntime (ms) \\\\\n"), std::string::npos)
      << render_latex_table(times);
  EXPECT_EQ(body(times), (Lines{"12.3\\phantom{00}", "1.23\\phantom{0}\\rlap{!}", "0.789", "-"}));
  const Table rates = table_of({">rate"}, {{"1.50 TFLOP/s"}, {"900 GFLOP/s"}, {"2.00 TFLOP/s"}});
  EXPECT_NE(render_latex_table(rates).find("rate (TFLOP/s)"), std::string::npos);
  EXPECT_EQ(body(rates), (Lines{"1.50\\phantom{0}", "0.900", "2.00\\phantom{0}"}));
  const Table ranges = table_of({">interval"}, {{"789 \u00b5s .. 1.23 ms"}, {"4 .. 5.5 ms"}});
  EXPECT_EQ(body(ranges), (Lines{"0.789--1.23\\phantom{0}", "4--5.5\\phantom{00}"}));
  const Table parts = table_of({">of ceiling"}, {{"52 %"}, {"7.1 %"}});
  EXPECT_NE(render_latex_table(parts).find("of ceiling (\\%)"), std::string::npos);
  const Table large = table_of({">time"}, {{"2 s"}, {"3 s"}, {"0.5 ms"}});
  EXPECT_EQ(body(large).back(), "0.0005") << "no digit is lost";
  EXPECT_EQ(body(table_of({">time"}, {{"1.5 ks"}, {"20 s"}, {"30 s"}})).front(), "1500");
}

TEST(LatexTable, LeavesWhatIsNoColumnOfQuantities) {
  const Table mixed =
      table_of({">n", ">x", "text"}, {{"5 / 5", "3 apples", "1 ms"}, {"4 / 5", "2 B", "1 s"}});
  EXPECT_NE(render_latex_table(mixed).find("\nn & x & text \\\\\n"), std::string::npos);
  EXPECT_EQ(body(mixed), (Lines{"5 / 5 & 3 apples & 1 ms", "4 / 5 & 2 B & 1 s"}));
  EXPECT_EQ(body(table_of({">change"}, {{"-3.1 %"}, {"+12 %"}})),
            (Lines{"$-3.1$", "$+12$\\phantom{.0}"}));
}

TEST(LatexTable, ANoteSpansWhatIsLeft) {
  Table table = table_of({"a", "b", "c"}, {{"x"}});
  table.lines[0].note = "failed: 100 %";
  EXPECT_EQ(body(table), Lines{"x & \\multicolumn{2}{l}{failed: 100 \\%}"});
}

TEST(LatexPage, IsAFragmentForAPaper) {
  Page page(true, true);
  page.line("50 % of it");
  page.table(table_of({"a"}, {{"x_y"}}), {"a_b: [1] what it is"});
  const std::string text = page.text();
  EXPECT_TRUE(text.starts_with("% \\usepackage{booktabs}\n")) << text;
  for (const char* part :
       {"50 \\% of it", "x\\_y \\\\\n", "{\\footnotesize a\\_b: {[}1] what it is\\par}"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

}  // namespace test_latex_table
}  // namespace assay
