// The statements of the page: numbers from ok rows alone, parts without data left out, nothing of a
// file taken for markup.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/report/parts.hpp"
#include "assay/test_paths.hpp"
#include "report_data.hpp"
#include "tests/core/result_fixture.hpp"

namespace test_report {

using namespace assay;
using nlohmann::json;
using test::document_of;
using test::result;
using test::row;
using test::value_of;

TEST(ReportDocument, PartsWithoutDataAreLeftOut) {
  const json document = document_of({row("ok", 1e-3)});
  for (const char* part : {"speedups", "roofline", "precision", "collectives", "scaling", "nodes",
                           "comparison", "model", "history", "acceptance"})
    EXPECT_FALSE(document.contains(part)) << part;
  EXPECT_TRUE(document.contains("rows"));
  EXPECT_EQ(document["counts"]["ok"], 1);
  // Nothing but a document of another command: no rows either.
  const json alone = report_document({"title", {}, {{"m.json", json{{"formula", "y ~ x"}}}}, {}});
  EXPECT_FALSE(alone.contains("rows"));
  EXPECT_FALSE(alone.contains("environments"));
  EXPECT_EQ(alone["model"][0]["formula"], "y ~ x");
}

TEST(ReportDocument, ARowThatIsNotOkGivesNoNumber) {
  for (const char* status : {"unsupported", "incorrect", "failed", "timeout"}) {
    json bad = row(status, 1e-3, 0, {{"precision", "bf16"}});
    // Even if a hand has put them there.
    bad["ceiling"] = {{"flops_per_s", 1e12}, {"bytes_per_s", 1e11}, {"fraction", 0.5}};
    bad["energy_j"] = 3.0;
    bad["problem"]["bytes"] = 1e6;
    bad["rates"] = {{"flops_per_s", 1e9}, {"busbw", 1e9}};
    bad["baseline"] = {{"system", "other"}, {"value", 1.0},       {"unit", "s"},
                       {"speedup", 7.0},    {"published", false}, {"citation", nullptr}};
    const json document = document_of({bad});
    for (const char* column :
         {"median", "low", "high", "samples", "p95", "p99", "flops_per_s", "bytes_per_s",
          "images_per_s", "fraction", "max_error", "error_over_bound", "energy"})
      EXPECT_TRUE(value_of(document, 0, column).is_null()) << status << " " << column;
    EXPECT_EQ(value_of(document, 0, "status"), status);
    EXPECT_EQ(value_of(document, 0, "reason"), std::string("why it is ") + status);
    for (const char* part : {"speedups", "roofline", "precision", "collectives", "scaling"})
      EXPECT_FALSE(document.contains(part)) << status << " " << part;
    EXPECT_EQ(document["counts"][status], 1);
    EXPECT_EQ(document["counts"]["ok"], 0);
  }
}

TEST(ReportDocument, EnergyIsTheMedianOfTheLaunchesAndSaysOfWhat) {
  std::vector<json> rows;
  for (int launch = 0; launch < 3; ++launch) {
    rows.push_back(row("ok", 1e-3, launch));
    rows.back()["energy_j"] = 1 << launch;
    rows.back()["energy_domains_j"] = {{"package-0", 1 << launch}};
  }
  const json document = document_of(rows);
  EXPECT_EQ(value_of(document, 0, "energy"), 2.0);
  EXPECT_EQ(value_of(document, 0, "energy_domains"), "package-0");
}

TEST(ReportDocument, OneWrongLaunchMakesAllOfThemWorthless) {
  const json document = document_of({row("ok", 1e-3, 0), row("incorrect", 1e-3, 1)});
  EXPECT_EQ(document["rows"].size(), 1U);
  EXPECT_EQ(value_of(document, 0, "status"), "incorrect");
  EXPECT_TRUE(value_of(document, 0, "median").is_null());
}

TEST(ReportDocument, PublishedRowsAreNotCalledVerified) {
  json timed = row("ok", 1e-3);
  timed["published"] = true;
  timed["verification"] = nullptr;
  json rate = row("ok", 1e-3, 0, {{"problem", "mb2"}});
  rate["published"] = true;
  rate["time_s"] = nullptr;
  rate["rates"] = {{"images_per_s", 7.0}};
  const json document = document_of({timed, rate, row("ok", 1e-3, 0, {{"problem", "mb3"}})});
  std::vector<std::string> statuses;
  for (std::size_t i = 0; i < 3; ++i) statuses.push_back(value_of(document, i, "status"));
  std::sort(statuses.begin(), statuses.end());
  EXPECT_EQ(statuses, (std::vector<std::string>{"ok", "published", "published"}));
  EXPECT_EQ(document["counts"]["ok"], 1);
  EXPECT_EQ(document["counts"]["published"], 2);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(value_of(document, i, "launches").is_null(), value_of(document, i, "status") != "ok")
        << "what others printed has no launches of ours";
}

TEST(ReportDocument, EachParameterIsAColumn) {
  json four = row("ok", 2e-3, 0, {{"threads", "4"}});
  four["parameters"]["threads"] = 4;
  const json document = document_of({row("ok", 1e-3), four});
  EXPECT_EQ(value_of(document, 0, "parameter/threads"), "2");
  EXPECT_EQ(value_of(document, 1, "parameter/threads"), "4");
  EXPECT_EQ(value_of(document, 0, "parameter/cache"), "hot");
}

TEST(ReportDocument, LaunchesAreTheUnit) {
  const json document = document_of({row("ok", 1e-3, 0), row("ok", 2e-3, 1), row("ok", 4e-3, 2)});
  EXPECT_DOUBLE_EQ(value_of(document, 0, "median"), 2e-3);
  EXPECT_DOUBLE_EQ(value_of(document, 0, "low"), 1e-3);
  EXPECT_DOUBLE_EQ(value_of(document, 0, "high"), 4e-3);
  EXPECT_EQ(value_of(document, 0, "range"), 1) << "three launches have no 95 % interval";
  EXPECT_EQ(value_of(document, 0, "launches"), 3);
  // Quantiles of samples are those of a launch.
  EXPECT_TRUE(value_of(document, 0, "p99").is_null());
  EXPECT_NEAR(value_of(document, 0, "flops_per_s"), 1e9 / 2e-3, 1e9);
}

TEST(ReportDocument, SpeedupIsToTheValueShown) {
  json first = row("ok", 1e-3, 0);
  first["baseline"] = {{"system", "V100"}, {"value", 4e-3},     {"unit", "s"},
                       {"speedup", 4.0},   {"published", true}, {"citation", "a table"}};
  const json document = document_of({first, row("ok", 2e-3, 1), row("ok", 2e-3, 2)});
  const json& all = document.at("speedups");
  EXPECT_DOUBLE_EQ(all[0]["speedup"], 2);
  EXPECT_EQ(all[0]["published"], true);
  EXPECT_EQ(all[0]["citation"], "a table");
}

TEST(ReportDocument, NumbersHaveTheirTexts) {
  json first = row("ok", 1e-3);
  first["baseline"] = {{"system", "V100"}, {"value", 4e12},     {"unit", "flops_per_s"},
                       {"speedup", 0.25},  {"published", true}, {"citation", "a table"}};
  const json document = document_of({first, row("failed", 0, 0, {{"precision", "bf16"}})});
  EXPECT_TRUE(value_of(document, 0, "median_text").is_null()) << "the failed row is the first";
  EXPECT_EQ(value_of(document, 1, "median_text"), "1.00 ms");
  EXPECT_EQ(value_of(document, 1, "flops_per_s_text"), "1.00 TFLOP/s");
  EXPECT_EQ(document["speedups"][0]["speedup_text"], "0.250\u00d7");
  EXPECT_EQ(document["speedups"][0]["value_text"], "4.00 TFLOP/s");
}

TEST(ReportDocument, NodesAreBesideTheirFleet) {
  std::vector<NamedResult> results;
  for (const auto& [host, seconds] :
       std::vector<std::pair<std::string, double>>{{"a", 1.0}, {"b", 1.0}, {"c", 1.08}, {"d", 1}}) {
    json entry = result({row(host == "d" ? "incorrect" : "ok", seconds)});
    entry["system"]["name"] = host;  // as where nobody has named the system
    entry["environments"] = {{{"host", host},
                              {"hardware", {{"processor", "P"}, {"memory", host}}},
                              {"software", json::object()},
                              {"volatile", json::object()},
                              {"hashes", {{"hardware", host}, {"software", "s"}}}}};
    results.push_back({host, entry});
  }
  // A time that two nodes took together is none of the first one's.
  json job = row("ok", 7, 0, {{"threads", "64"}});
  job["parameters"]["nodes"] = 2;
  for (const std::size_t i : {0U, 1U}) results[i].result.rows.push_back(job);
  NamedResult other = results.back();
  other.name = "other";
  other.result.system = "another machine of the same processors";
  results.push_back(other);
  const json document = report_document({"title", results, {}, {}});
  const json& part = document.at("nodes");
  EXPECT_EQ(part["hosts"], json({"a", "b", "c", "d"}));
  EXPECT_DOUBLE_EQ(part["rows"][0]["speedups"][2], 1 / 1.08);
  EXPECT_TRUE(part["rows"][0]["speedups"][3].is_null()) << "an incorrect row is no number";
  // Over the median of the other nodes, as `assay accept` has it: node a beside b and c.
  EXPECT_DOUBLE_EQ(part["rows"][0]["speedups"][0], std::sqrt(1.08));
  EXPECT_EQ(part["of"], 1);
  const json& differences = document["environments"]["differences"];
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0]["field"], "hardware.memory");
  EXPECT_EQ(document["environments"]["common"][0]["field"], "hardware.processor");
}

TEST(ReportPage, DataCannotEndTheirElement) {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- & \xE2\x80\xA8\xE2\x80\xA9 \xE2\x80\xA7";
  const std::string text = script_json({{"name", hostile}});
  for (const char* part : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    EXPECT_EQ(text.find(part), std::string::npos) << text;
  EXPECT_EQ(json::parse(text)["name"], hostile);
  EXPECT_NO_THROW(script_json({{"name", "\xFF"}})) << "no UTF-8: replaced";
}

TEST(ReportPage, IsMadeOfItsPartsInOnePass) {
  const fixture::Folder folder;
  const std::filesystem::path source = std::filesystem::path(ASSAY_SOURCE_DIR) / "analysis/report";
  for (const auto& entry : std::filesystem::directory_iterator(source))
    std::filesystem::copy(entry, folder.path() / entry.path().filename());
  json document = document_of({row("ok", 1e-3)});
  document["title"] = "<i>@DATA@</i> @SCRIPT@";
  std::string page = report_page(document, folder.path());
  EXPECT_NE(page.find("<title>&lt;i&gt;@DATA@&lt;/i&gt; @SCRIPT@</title>"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_SAYS(page, "\"plotly_reason\":\"");
  EXPECT_SAYS(plots_missing(folder.path()), "scripts/bootstrap");
  folder.put("plotly.min.js", "/* a licence */ var Plotly = {};");
  page = report_page(document, folder.path());
  EXPECT_SAYS(page, "<script id=\"plotly\">/* a licence */ var Plotly = {};</script>");
  EXPECT_SAYS(page, "\"plotly_reason\":null");
  folder.put("plotly.min.js", "var x = '</script>';");
  page = report_page(document, folder.path());
  EXPECT_SAYS(page, "cannot be inlined");
  EXPECT_SAYS(page, "<script id=\"plotly\"></script>");
  std::filesystem::remove(folder.path() / "report.css");
  EXPECT_SAYS(fixture::message_of([&] { report_page(document, folder.path()); }), "report.css");
}

TEST(ReportInput, FilesAreKnownByTheirSchema) {
  const fixture::Folder folder;
  const auto broken = folder.put("broken.json", "{\"schema\": \"assay-model/1\", \"formula\": 7}");
  EXPECT_SAYS(fixture::message_of([&] { load_report({broken.string()}); }), "formula");
  const auto cut = folder.put("cut.json", "{\"schema\": \"assay-result/1\", \"rows\": [");
  EXPECT_SAYS(fixture::message_of([&] { load_report({cut.string()}); }), "cut.json");
  const auto newer = folder.put("newer.json", "{\"schema\": \"assay-history/2\"}");
  EXPECT_SAYS(fixture::message_of([&] { load_report({newer.string()}); }), "newer");
  const auto foreign = folder.put("foreign.json", "[1, 2]");
  EXPECT_SAYS(fixture::message_of([&] { load_report({foreign.string()}); }), "foreign.json");
  const auto good =
      folder.put("good.json", fixture::result({fixture::row(fixture::good_outcome())}).dump());
  const ReportInput input = load_report({good.string()});
  ASSERT_EQ(input.results.size(), 1U);
  EXPECT_TRUE(input.results[0].rows()[0].samples_s.empty());
}

}  // namespace test_report
