// Numbers of a file that a reader recomputes: those of its own version of the statistics.
#include <gtest/gtest.h>

#include "assay/test_paths.hpp"
#include "core/base/statistics.hpp"
#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_result_statistics {

using fixture::good_outcome;
using nlohmann::json;

std::string refusal(const json& document) {
  const fixture::Folder folder;
  write_json(folder.path() / "result.json", document);
  return fixture::message_of([&] { read_result(folder.path() / "result.json"); });
}

/// Another estimator's numbers of the same samples, and what follows from them.
void estimate_otherwise(json& row) {
  json& time = row["time_s"];
  const double before = time["median"];
  time.update({{"median", 0.1605},
               {"mad", 0.0003},
               {"p95", 0.1615},
               {"p99", 0.1616},
               {"n_effective", 3.25},
               {"ci95", {0.1601, 0.1609}},
               {"ci95_reason", nullptr}});
  for (auto& [name, rate] : row["rates"].items()) rate = rate.get<double>() * before / 0.1605;
}

json estimated_otherwise(int version) {
  json document = fixture::result({fixture::row(good_outcome())});
  estimate_otherwise(document["rows"][0]);
  document["run"]["statistics"] = version;
  return document;
}

TEST(StatisticsVersion, IsNamedInEveryResult) {
  EXPECT_EQ(fixture::result({})["run"]["statistics"], statistics_version);
}

TEST(StatisticsVersion, AnEqualOneIsRecomputed) {
  json document = estimated_otherwise(statistics_version);
  EXPECT_SAYS(refusal(document), "/rows/0/time_s/median: found 0.1605, expected 0.161");
  document["run"].erase("statistics");  // before versions were named
  EXPECT_SAYS(refusal(document), "/rows/0/time_s/median: found 0.1605, expected 0.161");
}

TEST(StatisticsVersion, AnotherOneIsTakenAsItIs) {
  EXPECT_EQ(refusal(estimated_otherwise(statistics_version + 1)), "accepted");
}

TEST(StatisticsVersion, OnlyEstimatorsAreTakenAsTheyAre) {
  const json good = estimated_otherwise(statistics_version + 1);
  const auto refused = [&](const std::string& pointer, const json& value, const std::string& said) {
    json spoilt = good;
    spoilt.at(json::json_pointer("/rows/0" + pointer)) = value;
    EXPECT_SAYS(refusal(spoilt), "/rows/0" + said);
  };
  refused("/time_s/n", 13, "/time_s/n: found 13, expected 12");
  refused("/time_s/min", 0.1601, "/time_s/min: found 0.1601, expected 0.16 ");
  refused("/time_s/median", 0.159, "/time_s/median: found 0.159, expected 0.16 to 0.162");
  refused("/time_s/median", 0.163, "/time_s/median: found 0.163, expected 0.16 to 0.162");
  refused("/time_s/p95", 0.163, "/time_s/p95: found 0.163, expected 0.16 to 0.162");
  refused("/time_s/p99", 0.1, "/time_s/p99: found 0.1, expected 0.16 to 0.162");
  refused("/time_s/mad", 0.1, "/time_s/mad: found 0.1, expected 0 to 0.002");
  refused("/time_s/ci95", {0.1609, 0.1601}, "/time_s/ci95: found [0.1609,0.1601]");
  refused("/samples_s", json::array(), "/samples_s");
  refused("/rates/flops_per_s", 1e12, "/rates/algorithmic_flops_per_s: found");
  refused("/verification/error_over_bound", 1.5, "/verification/error_over_bound: found 1.5");
  refused("/parameters/precision", "bf16", "/parameters/precision: found \"bf16\"");
  refused("/environment", 1, "/environment: found 1");
  json none = good;
  none["run"]["statistics"] = 0;
  EXPECT_SAYS(refusal(none), "/run/statistics: found 0");
}

/// The numbers that version 1 made of measured samples. If this fails because an estimator is a
/// better one now, raise statistics_version, and archives stay readable.
TEST(StatisticsVersion, ArchivesOfVersion1StayReadable) {
  const std::filesystem::path archive =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/results/statistics_1.json";
  json document = read_json(archive);
  read_result(archive);
  EXPECT_FALSE(document["run"].contains("statistics"));
  ASSERT_EQ(document["rows"].size(), 6u);
  for (const json& row : document["rows"]) EXPECT_EQ(row["status"], "ok");
  // They are recomputed, as long as that is this Assay's version.
  json& median = document["rows"][0]["time_s"]["median"];
  median = median.get<double>() * 1.0001;
  EXPECT_EQ(refusal(document) == "accepted", statistics_version != 1);
}

}  // namespace test_result_statistics
}  // namespace assay
