// The tables of the CORAL-2 documents come out of the shipped baselines digit for digit.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <map>

#include "analysis/load.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "tests/support/rows.hpp"

namespace test_published_tables {

using namespace assay;
using test::has;

std::vector<Baseline> systems(const std::vector<std::string>& names) {
  std::vector<Baseline> baselines;
  for (const std::string& name : names) baselines.push_back(Baseline::load(name));
  return baselines;
}

std::string crossed(const std::string& by, TableOptions options = {}) {
  options.by = by;
  return render_table(load_results({"summitdev"}), systems({"summit"}), options);
}

/// The lines of summitdev's rows of one problem, in their order.
std::vector<std::string> lines_of(const std::string& table, const std::string& problem) {
  std::vector<std::string> lines;
  for (const std::string& line : split(table, '\n'))
    if (line.starts_with(problem + " ") && has(line, " summitdev ")) lines.push_back(line);
  return lines;
}

/// "3.58x" and "-" at the end of a line.
std::string ratios(const std::string& line, std::size_t n) {
  std::vector<std::string> words;
  for (const std::string& word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return join(std::vector<std::string>(words.end() - static_cast<std::ptrdiff_t>(n), words.end()),
              " ");
}

TEST(PublishedTables, Power8OverPower9) {
  const std::map<std::string, std::vector<std::string>> printed{
      {"pca 8GB",
       {"3.58x 3.24x 2.83x", "1.89x 1.71x 1.50x", "1.95x 1.76x 1.54x", "2.11x 1.90x 1.67x"}},
      {"pca 64GB",
       {"4.08x 4.35x 3.93x", "2.17x 2.31x 2.09x", "1.91x 2.03x 1.84x", "1.99x 2.12x 1.92x"}},
      {"kmeans 8GB",
       {"1.52x 1.57x 1.57x", "1.55x 1.60x 1.60x", "1.55x 1.60x 1.60x", "1.58x 1.63x 1.63x"}},
      {"kmeans 64GB",
       {"2.78x 2.75x 2.74x", "1.88x 1.86x 1.85x", "1.35x 1.33x 1.33x", "1.37x 1.35x 1.35x"}},
      {"svm 8GB", {"- 2.07x 2.07x", "- 1.98x 1.98x", "- 2.08x 2.08x", "- 2.25x 2.25x"}},
      {"svm 64GB", {"- - -", "- - -", "- - -", "- - -"}}};
  const std::string text = crossed("smt");
  for (const auto& [problem, expected] : printed) {
    const auto lines = lines_of(text, problem);
    ASSERT_EQ(lines.size(), expected.size()) << problem << "\n" << text;
    for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(ratios(lines[i], 3), expected[i]);
  }
  EXPECT_TRUE(RE2::PartialMatch(text, R"(\npca 8GB +summit +1\.90 s\* +2\.10 s\* +2\.40 s\*\n)"))
      << text;
  // The ratio has a direction: 3.58x is Power9's gain.
  EXPECT_TRUE(has(text, "summit smt 1 over row")) << text;
  EXPECT_TRUE(has(text,
                  "speedup: the column's system over the row's, above 1 the column's system "
                  "is faster"))
      << text;
  EXPECT_TRUE(has(text, "svm 8GB at smt 1: summit: its row is unsupported (the cell is damaged"));
  EXPECT_TRUE(has(text, "* summit, summitdev: published, not measured by Assay"));
  EXPECT_FALSE(has(text, "\u2020")) << text;
}

TEST(PublishedTables, PascalOverVoltaKeepsThePrintedRatiosOfComm) {
  const std::string text = crossed("precision");
  const std::map<std::string, std::vector<std::string>> printed{
      {"coral2/winograd", {"1.71x"}},
      {"coral2/implicit_gemm", {"1.57x"}},
      {"coral2/lstm", {"1.45x"}},
      {"coral2/gru", {"1.58x"}},
      {"allreduce 100000", {"1.27x\u2020", "1.91x\u2020"}}};
  for (const auto& [problem, expected] : printed) {
    const auto lines = lines_of(text, problem);
    ASSERT_EQ(lines.size(), expected.size()) << problem << "\n" << text;
    for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(ratios(lines[i], 1), expected[i]);
  }
  EXPECT_TRUE(has(text, "the source prints 1.27x, which does not follow from the rounded 300 ms"));
  EXPECT_TRUE(has(text, "the source prints 1.91x, which does not follow from the rounded 900 ms"));
}

TEST(PublishedTables, BothAbsolutesOnDemand) {
  EXPECT_FALSE(has(crossed("smt"), "(6.80 s / 1.90 s)"));
  const std::string text = crossed("smt", {.absolutes = true});
  EXPECT_TRUE(has(text, "3.58x (6.80 s / 1.90 s)")) << text;
  const std::string plain =
      render_table(load_results({"summitdev"}), systems({"summit"}), {.absolutes = true});
  EXPECT_TRUE(has(plain, "0.586 (2.99 s / 5.10 s)")) << plain;
  EXPECT_TRUE(has(plain, "0.787\u2020 (330 ms / 300 ms)")) << plain;
}

TEST(PublishedTables, SystemsSideBySide) {
  const std::string text =
      render_table(load_results({"summit", "summitdev"}), {}, {false, "system"});
  EXPECT_TRUE(has(text, "summitdev over summit")) << text;
  EXPECT_TRUE(has(text, "speedup: x over summit, above 1 x is faster")) << text;
  EXPECT_TRUE(RE2::PartialMatch(text, R"(26\.2 s\* +72\.8 s\* +0\.36\n)")) << text;
  EXPECT_TRUE(has(text, "Power9 / Power8")) << text;
  EXPECT_TRUE(has(text, "0.787\u2020")) << text;  // the printed ratio here too
  // A damaged cell has a reason and no ratio.
  EXPECT_TRUE(RE2::PartialMatch(text, R"(unsupported \[\d\] +34\.6 s\* +-\n)")) << text;
}

TEST(PublishedTables, RatesHaveTheirUnitAndNoTime) {
  const std::string text = render_table(load_results({"a100"}), systems({"v100"}), {});
  EXPECT_TRUE(RE2::PartialMatch(text, R"( 2470 images/s\* +1200 images/s\* +2\.06\n)")) << text;
  EXPECT_TRUE(has(text, "No ratio (-): v100: precision is tf32 here")) << text;
  EXPECT_FALSE(RE2::PartialMatch(text, R"(\d (ms|s)\b)")) << text;
  const std::string systems_text =
      render_table(load_results({"v100", "a100"}), {}, {false, "system"});
  EXPECT_TRUE(RE2::PartialMatch(systems_text, R"(1376 images/s\* +2180 images/s\* +1\.58\n)"))
      << systems_text;
}

TEST(PublishedTables, AProjectionIsMarkedWhereItStands) {
  const std::string text = render_table(load_results({"titan"}), {}, {});
  for (const char* projected : {"1.8", "6", "0.24"})
    EXPECT_TRUE(has(text, std::string(" ") + projected + " TB/s figure_of_merit\u2021\n")) << text;
  EXPECT_TRUE(has(text, "24.8 s*")) << "a measured job: " << text;
  EXPECT_TRUE(has(text, "\u2021 titan: a projection, not a measurement")) << text;
}

TEST(PublishedTables, EveryShippedBaselineHasATable) {
  for (const std::string& name : list_baseline_names()) {
    const std::vector<NamedResult> results = load_results({name});
    EXPECT_TRUE(has(render_table(results, {}, {}), " ok")) << name;
    EXPECT_TRUE(has(render_csv(results, {}, {}), ",true,")) << name;
  }
}

TEST(CrossedTable, WrongRowsGiveTheirReasonAndNoNumber) {
  std::vector<nlohmann::json> rows{test::row("ok", 4e-3)};
  const auto dev = load_results({"summitdev"});
  const nlohmann::json like = dev[0].rows()[0];
  for (const char* status : {"incorrect", "failed", "timeout", "unsupported"}) {
    nlohmann::json wrong = test::row(status, 1);
    for (const char* part : {"benchmark", "problem", "parameters"}) wrong[part] = like[part];
    const std::string text =
        render_table({{"", test::result({wrong})}}, systems({"summit"}), {false, "smt"});
    EXPECT_TRUE(has(text, std::string(status) + ": why it is")) << text;
    EXPECT_FALSE(RE2::PartialMatch(text, R"(\.\d\dx)")) << text;
  }
}

TEST(CrossedTable, AMeasuredRowStandsBesideEachPrecision) {
  nlohmann::json fp32 = test::row("ok", 1e-3),
                 fp16 = test::row("ok", 5e-4, 0, {{"precision", "fp16"}});
  fp32["problem"]["flops"] = fp16["problem"]["flops"] = 1e9;
  const Baseline base = Baseline::make("other", {fp32, fp16});
  const std::string text =
      render_table({{"", test::result({test::row("ok", 2e-3)})}}, {base}, {false, "precision"});
  EXPECT_TRUE(RE2::PartialMatch(text, R"(2\.00 ms +1\.5e-07 +2\.00x +4\.00x\n)")) << text;
  EXPECT_FALSE(has(text, "another algorithm")) << text;
  fp32["executed"]["algorithm"] = fp32["parameters"]["algorithm"] = "winograd";
  EXPECT_TRUE(has(render_table({{"", test::result({test::row("ok", 2e-3)})}},
                               {Baseline::make("other", {fp32})}, {false, "precision"}),
                  "other: another algorithm: winograd there, direct here"));
  // Another FLOP count is other work.
  fp16["problem"]["flops"] = 2e9;
  const std::string other =
      render_table({{"", test::result({test::row("ok", 2e-3)})}},
                   {Baseline::make("other", {fp32, fp16})}, {false, "precision"});
  EXPECT_TRUE(RE2::PartialMatch(other, R"(2\.00 ms +1\.5e-07 +2\.00x +-\n)")) << other;
  EXPECT_TRUE(has(other, "the FLOP count")) << other;
}

TEST(CrossedTable, AnUnknownParameterGetsTheNearest) {
  try {
    crossed("smtt");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(has(error.what(), "'smt'")) << error.what();
  }
}

TEST(Csv, HasAllDigitsAndTheSameRatios) {
  const std::string text =
      render_csv(load_results({"summitdev"}), systems({"summit"}), {.by = "smt"});
  EXPECT_TRUE(has(text, "\r\n"));
  std::size_t lines = 0;
  for (const std::string& line : split(text, '\n'))
    if (has(line, ",pca/8GB/smt1,") && has(line, ",summit smt 1,1.9,s,true,")) {
      EXPECT_TRUE(has(line, ",6.8,s,")) << line;
      EXPECT_TRUE(has(line, nlohmann::json(1.9 / 6.8).dump())) << line;
      ++lines;
    }
  EXPECT_EQ(lines, 1u) << text;
}

TEST(Csv, WrongRowsHaveNoNumber) {
  const std::string text = render_csv({{"", test::result({test::row("incorrect", 2e-3)})}}, {}, {});
  EXPECT_TRUE(has(text, "incorrect,why it is incorrect,false,false,1,,,,,,")) << text;
}

TEST(Csv, FormulasOfAFileAreText) {
  nlohmann::json result = test::result({test::row("ok", 1e-3)});
  result["system"]["name"] = "=HYPERLINK(\"http://x\",\"y\")";
  const std::string text = render_csv({{"", result}}, {}, {});
  EXPECT_TRUE(has(text, ",\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\",")) << text;
}

TEST(Table, ControlCharactersOfAFileReachNobody) {
  nlohmann::json result =
      test::result({test::row("ok", 1e-3), test::row("failed", 0, 0, {{"cache", "cold"}})});
  const std::string bad = "evil\x1b[2J|`x`\n<b>\u202e";
  result["system"]["name"] = bad;
  result["rows"][0]["names"] = {bad};
  result["rows"][1]["reason"] = bad;
  result["rows"][1]["parameters"]["precision"] = bad;
  for (const bool markdown : {false, true})
    for (const char* by : {"", "precision", "system"}) {
      const std::string text = render_table({{"", result}}, {}, {markdown, by});
      for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
      EXPECT_FALSE(has(text, "\u202e"));
      EXPECT_FALSE(markdown && RE2::PartialMatch(text, R"([^\\][<`])")) << text;
    }
}

}  // namespace test_published_tables
