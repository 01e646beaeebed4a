// The head of the page: one verdict over all inputs, what failed, what was lost, what is noisy.
#include <gtest/gtest.h>

#include "analysis/report/parts.hpp"
#include "report_data.hpp"

namespace test_findings {

using namespace assay;
using nlohmann::json;
using test::document_of;
using test::result;
using test::row;

json with(json made, const char* field, const json& value) {
  made[field] = value;
  return made;
}

/// Other work wanted the processors while it was timed.
json disturbed(json made) {
  made["time_s"]["stolen"] = 0.5;
  return made;
}

Comparison comparison(std::vector<ComparedRow> rows, ExitCode code) {
  Comparison document;
  document.exit_code = code;
  document.base = {"old", "s"};
  document.updated = {"new", "s"};
  document.rows = std::move(rows);
  document.summary = {{"slower", 1}, {"faster", 0}, {"same", 2}};
  return document;
}

ComparedRow compared(Verdict verdict, double ratio) {
  ComparedRow row;
  row.id = "conv/" + compare_verdicts[verdict];
  row.verdict = verdict;
  row.times.ratio = ratio;
  row.base.median = 1e-3;
  row.updated.median = 1e-3 * ratio;
  row.reason = "few launches";
  return row;
}

Entry not_compared(const std::string& id, const std::string& status,
                   const std::string& reason = "") {
  Entry entry;
  entry.id = id;
  entry.new_status = status;
  entry.reason = reason;
  return entry;
}

Acceptance acceptance(NodeVerdict verdict) {
  Acceptance document;
  document.exit_code = exit_code(verdict);
  document.verdict = verdict;
  document.reason = "node n1: too slow";
  document.criteria.name = "march";
  document.summary.nodes = 2;
  document.summary.pass = 1;
  document.nodes = {JudgedNode{"n0"}, JudgedNode{"n1", verdict}};
  JudgedRow& row = document.nodes[1].rows.emplace_back();
  row.id = "conv/a";
  row.verdict = verdict;
  row.reason = "8 % slower";
  return document;
}

RowHistory series(const std::string& id, const std::string& state, const std::string& answer = "") {
  RowHistory series;
  series.id = id;
  series.verdict.state = state;
  series.verdict.reason = "why " + state;
  if (!answer.empty()) series.confirmation = Confirmation{answer, "asked"};
  return series;
}

json document_with(std::vector<json> rows, std::vector<NamedDocument> documents) {
  std::vector<NamedResult> results;
  if (!rows.empty()) results.push_back({"", result(std::move(rows))});
  return report_document({"title", results, std::move(documents), {}});
}

/// "word what": count of each group.
std::map<std::string, int> groups_of(const json& document, const char* list) {
  std::map<std::string, int> counts;
  for (const json& group : document.at("findings").at(list))
    counts[group["word"].get<std::string>() + " " + group["what"].get<std::string>()] =
        group["count"];
  return counts;
}

TEST(ReportVerdict, OfRowsIsTheExitCodeOfTheRun) {
  const auto verdict = [](std::vector<json> rows) {
    const json made = document_of(std::move(rows)).at("verdict");
    return std::pair{made["word"].get<std::string>(), made["code"]};
  };
  const json good = row("ok", 1e-3), other = row("ok", 1e-3, 0, {{"problem", "mb2"}});
  const auto bad = [](const char* status) { return row(status, 1e-3, 0, {{"problem", "mb3"}}); };
  EXPECT_EQ(verdict({good, other}), (std::pair{std::string("VERIFIED"), json(0)}));
  EXPECT_EQ(verdict({good, bad("unsupported")}).second, 0);
  EXPECT_EQ(verdict({good, with(bad("unsupported"), "required", true)}).first, "FAILED");
  EXPECT_EQ(verdict({good, bad("failed"), bad("timeout")}).first, "FAILED");
  EXPECT_EQ(verdict({good, bad("failed"), row("incorrect", 1, 0, {{"problem", "mb4"}})}).first,
            "INCORRECT");
  EXPECT_EQ(verdict({good, bad("target missed")}),
            (std::pair{std::string("TARGET MISSED"), json(9)}));
  EXPECT_EQ(document_of({good, bad("target missed")}).at("verdict").at("text"),
            "1 row missed the target, 1 of 2 rows verified");
  EXPECT_EQ(verdict({bad("unsupported")}).first, "MISSING") << "nothing was measured";
  EXPECT_EQ(verdict({with(good, "published", true)}).first, "PUBLISHED");
  const json text = document_of({good, other, bad("failed")}).at("verdict").at("text");
  EXPECT_EQ(text, "1 row failed, 2 of 3 rows verified");
}

TEST(ReportVerdict, VerifiedRowsAreNotCalledFastEnough) {
  const json alone = document_of({row("ok", 1e-3)}).at("verdict");
  EXPECT_NE(alone["note"].get<std::string>().find("No criterion judged the speed"),
            std::string::npos);
  const json judged = document_with({row("ok", 1e-3)}, {{"a.json", acceptance(NodeVerdict::pass)}});
  EXPECT_EQ(judged["verdict"]["word"], "PASS");
  EXPECT_TRUE(judged["verdict"]["note"].is_null());
}

TEST(ReportVerdict, DisturbedRowsAreCountedBesideIt) {
  json busy = row("ok", 1e-3), hot = row("ok", 1e-3, 0, {{"problem", "mb2"}});
  busy["time_s"]["stolen"] = 0.5;
  hot["device_state"] = {{"seconds", 1.0}, {"throttled_s", {{"heat", 0.5}}}};
  const json document = document_of({busy, hot, row("ok", 1e-3, 0, {{"problem", "mb3"}})});
  EXPECT_EQ(document["verdict"]["word"], "VERIFIED");
  EXPECT_EQ(document["counts"]["ok"], 3);
  EXPECT_EQ(document["counts"]["disturbed"], 1);
  EXPECT_EQ(document["counts"]["throttled"], 1);
}

TEST(ReportVerdict, PublishedNumbersAreNotCalledVerified) {
  const json good = row("ok", 1e-3);
  std::vector<json> rows{good};
  const auto note = [&] { return document_of(rows)["verdict"]["note"].get<std::string>(); };
  EXPECT_TRUE(note().starts_with("Every measured number here is verified. ")) << note();
  for (const char* told :
       {"; 1 published number (*) is not. ", "; 2 published numbers (*) are not. "}) {
    rows.push_back(with(good, "published", true));
    rows.back()["id"] = "conv/" + std::to_string(rows.size());
    EXPECT_EQ(document_of(rows)["verdict"]["word"], "VERIFIED");
    EXPECT_TRUE(note().starts_with(std::string("Every measured number here is verified") + told))
        << note();
  }
}

TEST(ReportVerdict, IsTheGravestOfAllInputsAndNamesTheOthers) {
  const NamedDocument slower{"c.json",
                             comparison({compared(Verdict::slower, 1.1)}, ExitCode::slower)};
  const NamedDocument noisy{"a.json", acceptance(NodeVerdict::not_quiet)};
  json verdict = document_with({row("ok", 1e-3)}, {noisy, slower}).at("verdict");
  EXPECT_EQ(verdict["word"], "SLOWER");
  EXPECT_EQ(verdict["code"], 4);
  EXPECT_EQ(verdict["text"], "comparison of new with old: 1 slower, 2 same");
  ASSERT_EQ(verdict["also"].size(), 2U);
  EXPECT_EQ(verdict["also"][0]["word"], "NOT-QUIET");
  EXPECT_EQ(verdict["also"][1]["word"], "VERIFIED");
  verdict = document_with({row("incorrect", 1e-3)}, {noisy, slower}).at("verdict");
  EXPECT_EQ(verdict["word"], "INCORRECT");
  // A comparison that is incorrect says why; where a result is at hand, that says it better.
  Comparison wrong = comparison({compared(Verdict::same, 1)}, ExitCode::incorrect);
  wrong.not_compared = {not_compared("x", "incorrect")};
  const NamedDocument against{"c.json", wrong};
  verdict = document_with({}, {against}).at("verdict");
  EXPECT_EQ(verdict["text"], "comparison of new with old: 1 incorrect, 1 slower, 2 same");
  verdict = document_with({row("incorrect", 1e-3)}, {against}).at("verdict");
  EXPECT_EQ(verdict["text"], "1 row computed wrong results, 0 of 1 row verified");
  wrong = comparison({compared(Verdict::same, 1)}, ExitCode::target_missed);
  wrong.not_compared = {not_compared("x", "target missed")};
  verdict = document_with({}, {{"c.json", wrong}}).at("verdict");
  EXPECT_EQ(verdict["word"], "TARGET MISSED");
  EXPECT_EQ(verdict["text"], "comparison of new with old: 1 target missed, 1 slower, 2 same");
  verdict = document_with({}, {{"m.json", json{{"formula", "y ~ x"}}}}).at("verdict");
  EXPECT_EQ(verdict["word"], "NO VERDICT");
  EXPECT_TRUE(verdict["code"].is_null());
}

TEST(ReportFindings, OfRows) {
  const json document = document_of(
      {row("ok", 1e-3), row("incorrect", 1e-3, 0, {{"problem", "mb2"}}),
       row("failed", 1e-3, 0, {{"problem", "mb3"}}), row("failed", 1e-3, 0, {{"problem", "mb4"}}),
       row("unsupported", 1e-3, 0, {{"problem", "mb5"}}),
       with(row("unsupported", 1e-3, 0, {{"problem", "mb6"}}), "required", true),
       disturbed(row("ok", 1e-3, 0, {{"problem", "mb7"}}))});
  EXPECT_EQ(groups_of(document, "failed"),
            (std::map<std::string, int>{{"incorrect rows of the results", 1},
                                        {"failed rows of the results", 2},
                                        {"unsupported rows that the suite requires", 1}}));
  EXPECT_EQ(document["findings"]["failed"][0]["items"][0]["reason"], "why it is incorrect");
  const std::map<std::string, int> noisy = groups_of(document, "noisy");
  EXPECT_EQ(noisy.size(), 1U);
  EXPECT_EQ(noisy.at("! rows that were timed while other work wanted the processors"), 1);
  // Launches that lie apart: 1 ms and 2 ms.
  const json wide = document_of({row("ok", 1e-3), row("ok", 2e-3, 1)});
  ASSERT_EQ(wide["findings"]["noisy"].size(), 1U);
  EXPECT_EQ(wide["findings"]["noisy"][0]["word"], "wide");
}

TEST(ReportFindings, OfAnInterruptedRun) {
  json run = result({row("ok", 1e-3)});
  run["run"]["finished"] = nullptr;
  const json document = report_document({"title", {{"", run}}, {}, {}});
  ASSERT_EQ(document["findings"]["lost"].size(), 1U);
  EXPECT_EQ(document["findings"]["lost"][0]["word"], "unfinished");
  run["run"]["finished"] = run["run"]["started"];
  EXPECT_TRUE(report_document({"title", {{"", run}}, {}, {}})["findings"]["lost"].empty());
}

/// Names of the items of the first group of a list.
std::vector<std::string> items_of(const json& document, const char* list) {
  std::vector<std::string> names;
  for (const json& item : document.at("findings").at(list).at(0).at("items"))
    names.push_back(item.at("name"));
  return names;
}

TEST(ReportFindings, NameTheRunWhereASystemHasSeveral) {
  json first = result({disturbed(row("ok", 1e-3))}), second = first;
  const std::string name = "conv list/first forward fp32 onednn direct";
  const auto noisy = [&] {
    return items_of(report_document({"title", {{"weekly/a", first}, {"weekly/b", second}}, {}, {}}),
                    "noisy");
  };
  EXPECT_EQ(noisy(), (std::vector{name + " in weekly/a", name + " in weekly/b"}));
  for (json* run : {&first, &second}) (*run)["run"]["finished"] = nullptr;
  EXPECT_EQ(
      items_of(report_document({"title", {{"weekly/a", first}, {"weekly/b", second}}, {}, {}}),
               "lost"),
      (std::vector<std::string>{"id in weekly/a", "id in weekly/b"}));
  // Nothing is added if the system tells the run, or if there is one run.
  first["system"]["name"] = "old";
  second["system"]["name"] = "new";
  EXPECT_EQ(noisy(), (std::vector{"old " + name, "new " + name}));
  EXPECT_EQ(items_of(report_document({"title", {{"", first}}, {}, {}}), "noisy"),
            std::vector{name});
}

TEST(ReportFindings, OfAComparison) {
  Comparison document = comparison(
      {compared(Verdict::slower, 1.25), compared(Verdict::inconclusive, 1.02)}, ExitCode::slower);
  Entry gone, number, lost;
  gone.id = "gone";
  gone.status = "unsupported";
  number.id = lost.id = "number";
  number.status = "ok";
  lost.reason = "there is no such row";
  document.only_base = {gone, number};
  document.lost = {lost};
  document.not_compared = {not_compared("x", "incorrect", "wrong"),
                           not_compared("y", "unsupported", "no")};
  const json made = document_with({}, {{"c.json", document}});
  const json& failed = made["findings"]["failed"];
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0]["items"][0]["reason"], "0.8x, from 1.00 ms to 1.25 ms");
  EXPECT_EQ(failed[1]["items"][0]["name"], "x");
  EXPECT_EQ(groups_of(made, "lost"),
            (std::map<std::string, int>{{"lost rows of new against old", 1},
                                        {"vanished rows of new against old", 1}}));
  EXPECT_EQ(groups_of(made, "noisy").size(), 1U);
}

TEST(ReportFindings, OfNodes) {
  const auto words = [](NodeVerdict verdict) {
    return document_with({}, {{"a.json", acceptance(verdict)}})["findings"];
  };
  EXPECT_EQ(words(NodeVerdict::perf_fail)["failed"][0]["items"][0]["reason"], "conv/a: 8 % slower");
  EXPECT_EQ(words(NodeVerdict::missing)["lost"][0]["items"][0]["name"], "n1");
  EXPECT_EQ(words(NodeVerdict::not_quiet)["noisy"][0]["count"], 1);
  EXPECT_TRUE(words(NodeVerdict::pass)["failed"].empty());
}

TEST(ReportFindings, OfANodeAreThoseOfTheTerminal) {
  Acceptance document = acceptance(NodeVerdict::perf_fail);
  const auto shown = [&] {
    return document_with({}, {{"a.json", document}})["acceptance"][0]["nodes"][1]["findings"];
  };
  EXPECT_EQ(shown(), json::array({"conv/a: 8 % slower"}));
  std::vector<JudgedRow>& rows = document.nodes[1].rows;
  rows.resize(8, rows.front());
  rows.back().verdict = NodeVerdict::incorrect;
  EXPECT_EQ(shown()[0], "INCORRECT: conv/a: 8 % slower");
  EXPECT_EQ(shown()[6], "and 2 more findings");
  rows.clear();
  document.nodes[1].reason = "why";
  EXPECT_EQ(shown(), json::array({"why"}));
}

TEST(ReportFindings, OfAHistoryWithItsConfirmations) {
  History document;
  document.code = ExitCode::unconfirmed;
  document.series = {series("a", "slower"),
                     series("b", "drifting"),
                     series("c", "lost"),
                     series("d", "steady"),
                     series("e", "suspect"),
                     series("f", "suspect", "software slower"),
                     series("g", "suspect", "noise"),
                     series("h", "suspect", "unconfirmed")};
  const json made = document_with({}, {{"h.json", document}});
  EXPECT_EQ(made["verdict"]["word"], "UNCONFIRMED");
  const std::string asked = " suspects that were measured again", plain = " series of the history";
  EXPECT_EQ(groups_of(made, "failed"),
            (std::map<std::string, int>{
                {"slower" + plain, 1}, {"drifting" + plain, 1}, {"software slower" + asked, 1}}));
  EXPECT_EQ(groups_of(made, "lost"), (std::map<std::string, int>{{"lost" + plain, 1}}));
  EXPECT_EQ(groups_of(made, "noisy"),
            (std::map<std::string, int>{
                {"suspect" + plain, 1}, {"noise" + asked, 1}, {"unconfirmed" + asked, 1}}));
}

TEST(ReportHead, NamesMachineSuiteAndDate) {
  json first = result({row("ok", 1e-3)}), second = first;
  first["run"]["started"] = "2026-01-02T00:00:00Z";
  second["run"]["started"] = "2026-01-05T00:00:00Z";
  second["run"]["suite"] = "other";
  for (json* entry : {&first, &second}) {
    (*entry)["system"]["name"] = "cluster";
    (*entry)["environments"] = json::array({{{"host", entry == &first ? "n0" : "n1"},
                                             {"hardware", {{"processor", "P9"}}},
                                             {"software", json::object()},
                                             {"volatile", json::object()},
                                             {"hashes", {{"hardware", "h"}, {"software", "s"}}}}});
  }
  const json head = report_document({"title", {{"a", first}, {"b", second}}, {}, {}}).at("head");
  ASSERT_EQ(head["machines"].size(), 1U);
  EXPECT_EQ(head["machines"][0]["name"], "cluster");
  EXPECT_EQ(head["machines"][0]["processor"], "P9");
  EXPECT_EQ(head["machines"][0]["hosts"], json({"n0", "n1"}));
  EXPECT_EQ(head["suites"], json({"suite", "other"}));
  EXPECT_EQ(head["first"], "2026-01-02T00:00:00Z");
  EXPECT_EQ(head["last"], "2026-01-05T00:00:00Z");
  History history;
  history.series = {series("a", "steady")};
  history.series[0].system = "tracked";
  history.series[0].points.emplace_back().when = "2026-02-01T00:00:00Z";
  const json alone = document_with({}, {{"h.json", history}}).at("head");
  EXPECT_EQ(alone["machines"][0]["name"], "tracked");
  EXPECT_EQ(alone["last"], "2026-02-01T00:00:00Z");
}

}  // namespace test_findings
