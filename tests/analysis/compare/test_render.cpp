// The output of a comparison: numbers inherit the mark of the launches that they are made of, and
// the tables fit a terminal.
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/text_table.hpp"
#include "compare_data.hpp"

namespace assay::test {
namespace test_render {

/// The first line that starts like this.
std::string line_of(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(RenderComparison, RatiosAndTheirMeanInheritTheMark) {
  json quiet = joined({launches("a", 1, 6), launches("b", 1, 6)});
  json busy = quiet;
  busy["rows"][0]["time_s"]["stolen"] = 0.5;  // one launch of a
  const std::string plain = rendered(quiet, quiet);
  EXPECT_EQ(plain.find('!'), std::string::npos) << plain;
  for (const auto& [base, updated] : {std::pair{&busy, &quiet}, std::pair{&quiet, &busy}}) {
    const json document = compared(*base, *updated);
    EXPECT_EQ((*row_of(document, "/a"))["base"]["shared"], base == &busy);
    const std::string text = rendered(*base, *updated);
    EXPECT_NE(line_of(text, "a ").find(" 1.0000! "), std::string::npos) << text;
    EXPECT_EQ(line_of(text, "b ").find('!'), std::string::npos) << text;
    EXPECT_NE(text.find("new over base: 1.0000!,"), std::string::npos) << text;
    EXPECT_NE(text.find(wrap(shared_note, table_width)), std::string::npos) << text;
  }
}

TEST(RenderComparison, CsvHasEachRowAndWhyOthersHaveNone) {
  const json one = joined({launches("a", 1, 6)}),
             two = joined({launches("a", 1, 6), launches("b", 1, 6)});
  const std::string text = render_comparison_csv(compared(one, two).get<Comparison>());
  EXPECT_EQ(text.find("list,id,verdict,unit,base,base_launches,new,"), 0U) << text;
  EXPECT_NE(line_of(text, "rows,").find(",6,"), std::string::npos) << text;
  EXPECT_FALSE(line_of(text, "only_new,").empty()) << text;
}

TEST(RenderComparison, AThrottledSideIsMarked) {
  json quiet = joined({launches("a", 1, 6)});
  json hot = quiet;
  hot["rows"][0]["device_state"] = {{"seconds", 1}, {"throttled_s", {{"heat", 0.5}}}};
  EXPECT_EQ((*row_of(compared(quiet, hot), "/a"))["new"]["throttled"], true);
  const std::string text = rendered(quiet, hot);
  EXPECT_NE(line_of(text, "a ").find(" 1.0000\u00b0 "), std::string::npos) << text;
  EXPECT_NE(text.find(wrap(throttled_note, table_width)), std::string::npos) << text;
}

TEST(RenderComparison, ARatioThatIsNotThatOfTheMediansSaysSo) {
  const auto times = [](std::vector<double> seconds) {
    std::vector<json> rows;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      rows.push_back(row("ok", seconds[i], static_cast<int>(i), {{"problem", "a"}}));
    return joined({rows});
  };
  // The medians are 1 ms and 8 ms; of the ratios of all nine pairs the median is 1.
  const std::string text = rendered(times({1e-3, 1e-3, 8e-3}), times({1e-3, 8e-3, 8e-3}));
  EXPECT_NE(text.find(" 1.0000 "), std::string::npos) << text;
  const std::string note = "new over base: the median of the ratios of each launch";
  EXPECT_NE(text.find(note), std::string::npos) << text;
  const std::string single = rendered(times({1e-3}), times({8e-3}));
  EXPECT_EQ(single.find(note), std::string::npos) << single;
}

TEST(RenderComparison, OnlyParametersThatDifferAreColumns) {
  const json base = joined(
      {launches("a", 1, 5), launches("b", 1, 5), launches("a", 2, 5, 0.001, {{"cache", "cold"}})});
  const std::string text = rendered(base, base);
  const std::string head = line_of(text, "problem ");
  EXPECT_NE(head.find("cache"), std::string::npos) << text;
  EXPECT_EQ(head.find("backend"), std::string::npos) << text;
  EXPECT_EQ(head.find("tolerance"), std::string::npos) << text;
  const std::string above = line_of("\n" + rendered(base, base, {}, true), "all rows: ");
  EXPECT_NE(above.find("direction forward, precision fp32, backend onednn, algorithm direct, "),
            std::string::npos)
      << above;
  EXPECT_NE(above.find(", launches 5 / 5, tolerance 2 %"), std::string::npos) << above;
}

TEST(RenderComparison, ParametersThatDifferBetweenTheSidesAreShownOfBoth) {
  const json base = joined({launches("a", 1, 5), launches("b", 1, 5)});
  const json updated = joined({launches("a", 0.5, 5, 0.001, {{"precision", "bf16"}}),
                               launches("b", 0.5, 5, 0.001, {{"precision", "bf16"}})});
  const std::string text = rendered(base, updated, {"precision"});
  EXPECT_NE(text.find("precision fp32 / bf16, "), std::string::npos) << text;
}

TEST(RenderComparison, FitsATerminalWithLongReasonsAsFootnotes) {
  const std::string long_word(120, 'x');
  json base = joined({launches("list/a-rather-long-name", 1, 5), launches("b", 1, 5),
                      launches("b", 1, 5, 0.001, {{"cache", "cold"}}),
                      launches("b", 1, 5, 0.001, {{"direction", "bwd_weights"}}),
                      launches("b", 1, 5, 0.001, {{"precision", "bf16"}}),
                      launches("b", 1, 5, 0.001, {{"backend", "reference"}}), launches("c", 1, 5)});
  json updated = base;
  for (json& measured : updated["rows"])
    if (measured["names"][0] == "c") {
      measured = row("unsupported", 1, measured["launch"], {{"problem", "c"}});
      measured["names"] = {"c"};
      measured["reason"] = "there is no kernel for this " + long_word;
    } else {
      measured["executed"]["implementation"] = "another";
    }
  const std::string text = rendered(base, updated);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(long_word) == std::string::npos) {  // a word is never broken
      EXPECT_LE(count_columns(line), table_width) << text;
    }
  EXPECT_NE(text.find("Not shown, to fit 120 characters: variation"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "c ").find(" unsupported  [1]"), std::string::npos) << text;
  EXPECT_NE(text.find("[1] new is unsupported: there is no kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("[1] implementation is unknown in base and another in new"),
            std::string::npos)
      << text;
  EXPECT_NE(rendered(base, updated, {}, true).find("| variation |"), std::string::npos);
}

/// Launches of a row of another benchmark.
std::vector<json> rnn_launches(const Settings& more = {}) {
  std::vector<json> rows = launches("c", 1, 5, 0.001, more);
  for (json& measured : rows) measured["benchmark"] = "rnn";
  return rows;
}

TEST(RenderComparison, EachBenchmarkHasATableWhereOneWouldBeTooWide) {
  const json wide = joined({launches("list/a-rather-long-name", 1, 5),
                            launches("b", 1, 5, 0.001, {{"cache", "cold"}}),
                            launches("b", 1, 5, 0.001, {{"direction", "bwd_weights"}}),
                            rnn_launches({{"input_multiplication", "linear"}}),
                            rnn_launches({{"input_multiplication", "skip"}}),
                            rnn_launches({{"memory_of_states", "kept_for_gradients"}})});
  const std::string text = rendered(wide, wide);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(count_columns(line), table_width) << text;
  EXPECT_NE(line_of(text, "conv"), "") << text;
  EXPECT_NE(line_of(text, "rnn"), "") << text;
  EXPECT_EQ(line_of(text, "problem ").find("input_multiplication"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "all rows: ").find("launches 5 / 5"), std::string::npos) << text;
  EXPECT_NE(text.find("p: probability of such a difference"), std::string::npos) << text;
  const json narrow = joined({launches("a", 1, 5), rnn_launches()});
  EXPECT_NE(line_of(rendered(narrow, narrow), "benchmark "), "") << rendered(narrow, narrow);
}

}  // namespace test_render
}  // namespace assay::test
