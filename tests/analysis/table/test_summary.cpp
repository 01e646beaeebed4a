// The summary of the CORAL-2 documents, from the shipped baselines.
#include "analysis/table/summary.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/load.hpp"
#include "analysis/table/beside.hpp"
#include "assay/test_paths.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"
#include "tests/patterns.hpp"
#include "tests/support/rows.hpp"

namespace test_summary {

using namespace assay;
using nlohmann::json;
using test::has;

std::vector<Baseline> systems(const std::vector<std::string>& names) {
  std::vector<Baseline> baselines;
  for (const std::string& name : names) baselines.push_back(Baseline::load(name));
  return baselines;
}

std::string coral2(const std::vector<NamedResult>& results,
                   const std::vector<std::string>& baselines,
                   const std::string& format = "terminal") {
  return render_summary_table(read_summary("coral2"), results, systems(baselines), format);
}

/// Cells of the line that begins with a name, blanks between them.
std::string line_of(const std::string& table, const std::string& name) {
  for (const std::string& line : split(table, '\n'))
    if (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with(name + " "))
      return replaced(line, " +", " ");
  return "";
}

TEST(Summary, OfTheDocuments) {
  const std::string text = coral2(load_results({"summit"}), {"summitdev", "titan"});
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/tables/coral2.txt");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

TEST(Summary, MeansAreOfTheFastestRowsOfEachProblem) {
  const std::string text = coral2(load_results({"summit"}), {"summitdev"});
  const double pca = std::sqrt(3.6 / 1.9 * 24.8 / 12.2), kmeans = std::sqrt(4.7 / 3 * 35.3 / 26.2),
               svm = 33.1 / 16.7, cnn = std::sqrt(5.1 / 2.99 * 3.1 / 1.98),
               rnn = std::sqrt(7.4 / 5.1 * 359.5 / 227.98),
               allreduce = std::sqrt(1.27 * 1.91);  // as printed
  const auto expect = [&](const char* name, double mean, const char* marks, int count) {
    EXPECT_TRUE(has(line_of(text, name), fmt::format(" {:.3g}{} ({})", mean, marks, count)))
        << line_of(text, name);
  };
  expect("PCA", pca, "", 2);
  expect("K-means", kmeans, "", 2);
  expect("SVM", svm, "", 1);
  expect("Big Data Analytics Suite", std::cbrt(pca * kmeans * svm), "", 3);
  expect("CNN", cnn, "", 2);
  expect("RNN", rnn, "", 2);
  expect("allreduce", allreduce, printed_mark, 2);
  expect("Deep Learning Suite", std::cbrt(cnn * rnn * allreduce), printed_mark, 3);
  // The other way round each problem has the inverse.
  EXPECT_TRUE(has(line_of(coral2(load_results({"summitdev"}), {"summit"}), "PCA"),
                  fmt::format(" {:.3g} (2)", 1 / pca)));
}

/// A row of PCA of 8 GB as assay-pca makes it.
json pca(double seconds, const char* scale = "1") {
  json object = test::row("ok", seconds);
  object["id"] = fmt::format("pca/{}/{}", scale, seconds);
  object["benchmark"] = "pca";
  object["names"] = {"coral2/8GB"};
  object["problem"] = {{"descriptor", "n4000000d250"}, {"size", 8e9}};
  object["parameters"] = {{"precision", "fp64"}, {"data", "normal"},   {"ranks", 1},
                          {"nodes", 1},          {"threads", seconds}, {"scale", scale}};
  if (object["parameters"]["scale"] == "1") object["parameters"]["scale"] = 1;
  return object;
}

TEST(Summary, OwnRowsAndWhatIsMissing) {
  const NamedResult mine{"mine", test::result({pca(2.5), pca(5), pca(0.1, "1/16")})};
  const std::string text = coral2({mine}, {"summitdev", "titan"});
  // The faster of two numbers of threads counts; "?": the source does not give data and precision.
  EXPECT_TRUE(has(line_of(text, "PCA"), "PCA 1.44? (1) - [3]")) << text;
  EXPECT_TRUE(has(line_of(text, "K-means"), "K-means - [")) << text;
  // Footnotes are numbered as they are read.
  EXPECT_TRUE(has(line_of(text, "Big Data Analytics Suite"), "Suite - [1] - [2]")) << text;
  const std::string all = replaced(text, "\\s+", " ");
  EXPECT_TRUE(has(all, "K-means has no speedup, so the mean would not be of the whole")) << text;
  EXPECT_TRUE(has(all, "mine has no row of K-means")) << text;
  EXPECT_TRUE(has(all, "titan has no row of this problem")) << text;
  EXPECT_TRUE(has(all, "? summitdev: its source does not give data, precision")) << text;
  // A scaled row alone has no ratio.
  const std::string scaled = coral2({{"mine", test::result({pca(0.1, "1/16")})}}, {"summitdev"});
  EXPECT_TRUE(has(line_of(scaled, "PCA"), "PCA - [2]")) << scaled;
  EXPECT_TRUE(has(scaled, "scale is 1/16 here and 1 there")) << scaled;
}

TEST(Summary, ASpeedupOverAProjectionIsMarked) {
  const std::string text = coral2(load_results({"titan"}), {"titan"});
  for (const char* line :
       {"PCA 1\u2021 (2)", "K-means 1\u2021 (1)", "SVM 1\u2021 (1)", "Suite 1\u2021 (3)"})
    EXPECT_TRUE(has(line_of(text, "PCA") + line_of(text, "K-means") + line_of(text, "SVM") +
                        line_of(text, "Big Data Analytics Suite"),
                    line))
        << text;
  EXPECT_TRUE(has(text, "\u2021 titan: a projection, not a measurement.")) << text;
}

TEST(Summary, MarkdownHasALineForEachWorkload) {
  const std::string text = coral2(load_results({"summit"}), {"summitdev"}, "markdown");
  int lines = 0;
  for (const std::string& line : split(text, '\n')) lines += line.starts_with("|");
  EXPECT_EQ(lines, 2 + 2 + 6);
}

/// The printed speedups are those of the shipped baseline, which an import checks in the document.
TEST(Summary, PrintedValuesAreTheDocuments) {
  const std::string takeaways =
      read_json(std::string(ASSAY_SOURCE_DIR) + "/results-schema/baselines/summit.json")
          .at("system")
          .at("takeaways")
          .dump();
  int printed = 0;
  const auto expect = [&](const std::vector<PrintedSpeedup>& speedups) {
    for (const PrintedSpeedup& speedup : speedups) {
      const std::string number = replaced(speedup.text, "[^0-9.]", "");
      EXPECT_TRUE(has(takeaways, "~" + number + "x")) << speedup.text << " " << takeaways;
      ++printed;
    }
  };
  for (const SummaryCategory& category : read_summary("coral2").categories) {
    expect(category.printed);
    for (const SummaryWorkload& workload : category.workloads) expect(workload.printed);
  }
  EXPECT_EQ(printed, 7);
}

TEST(Summary, IsWrittenForProgramsToo) {
  const auto summit = load_results({"summit"});
  const json document = json::parse(coral2(summit, {"summitdev"}, "json"));
  EXPECT_EQ(document["columns"][0]["title"], "workload");
  const json& line = document["lines"][0];
  EXPECT_TRUE(has(line["cells"][1], fmt::format("{:.3g}", line["numbers"][1].get<double>())));
  const auto lines = static_cast<std::ptrdiff_t>(document["lines"].size());
  EXPECT_EQ(std::ranges::count(coral2(summit, {"summitdev"}, "csv"), '\n'), lines + 1);
}

}  // namespace test_summary
