// The document of a history, and its texts.
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"
#include "core/result/schema.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_history_document {

using nlohmann::json;
using test::noisy, test::times;

History judged(const std::vector<NamedResult>& results) {
  return judge_history(collect_history(results, std::nullopt, std::nullopt),
                       Anchors("/nonexistent"), {});
}

TEST(HistoryDocument, ADocumentIsReadAsItWasWritten) {
  std::vector<NamedResult> results =
      times(noisy(40, 1, [](std::size_t i) { return i < 36 ? 1 : 1.1; }));
  results[4] = test::history_run(4, {test::row("failed", 1)});
  History history = judged(results);
  history.series[0].confirmation = {"noise", "why", 1.0, {{0.9, 1.1}}, 0.5, 1.0, 1.0, 1.0};
  const json document = history;
  EXPECT_EQ(find_schema_errors(document, "history", "document"), std::vector<std::string>{});
  EXPECT_EQ(json(document.get<History>()), document);
  EXPECT_EQ(document["exit_code"], 4);
  EXPECT_EQ(document["summary"]["slower"], 1);
  EXPECT_EQ(document["summary"]["too_short"], 0);
  EXPECT_EQ(document["settings"]["anchor"], 8);
  EXPECT_TRUE(document["series"][0]["points"][0]["low"].is_null());
  EXPECT_TRUE(document["series"][0]["anchored"]["owner"].is_null());
}

TEST(HistoryDocument, RatiosOfTheTableAreSpeedups) {
  const History history =
      judged(times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.25; })));
  const AnchoredLevel& anchored = *history.series[0].verdict.anchored;
  ASSERT_GT(anchored.ratio, 1.2) << "of the times, in the document";
  const std::string text = render_history(history, false);
  for (const std::string& part :
       {fmt::format(" {:.3f} ", 1 / anchored.ratio), std::string("over anchored"),
        std::string("speedup: the latest over the baseline, above 1 the latest is faster")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.find("above 1: slower"), std::string::npos);
}

TEST(HistoryDocument, OutputsHoldNoControlCharacter) {
  auto results = times(noisy(40, 1, [](std::size_t i) { return i < 30 ? 1 : 1.1; }));
  for (NamedResult& result : results) result.result.system = "a\x1b[31m|b";
  const History history = judged(results);
  for (const std::string& text :
       {render_history(history, false), render_history(history, true), render_history_csv(history)})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(render_history(history, true).find("\\|b"), std::string::npos);
}

}  // namespace test_history_document
}  // namespace assay
