// A report shows evidence beside times: devices, burn-in, links, storage, blame.
#include <gtest/gtest.h>

#include "report_data.hpp"

namespace assay {
namespace test_evidence {

using nlohmann::json;
using test::document_of;
using test::row;

/// A section of the evidence; null if there is none.
json section_of(const json& document, const std::string& id) {
  for (const json& section : document.value("evidence", json::array()))
    if (section["id"] == id) return section;
  return nullptr;
}

json with_device(json measured, const std::string& device, double errors, double width) {
  measured["device_health"] = {{{"device", device},
                                {"values", {{"pcie_width", width}}},
                                {"errors", {{"xid 79", errors}}},
                                {"corrected", {{"ecc corrected dram", 3}}},
                                {"corrected_meanwhile", json::object()}}};
  return measured;
}

TEST(Evidence, IsAbsentWhereRowsTellNothing) {
  EXPECT_FALSE(document_of({row("ok", 1)}).contains("evidence"));
}

TEST(Evidence, ADeviceIsALineOverAllOfItsRows) {
  const json document =
      document_of({with_device(row("ok", 1), "GPU 0", 0, 16),
                   with_device(row("ok", 2, 0, {{"threads", "4"}}), "GPU 0", 0, 8),
                   with_device(row("ok", 3, 0, {{"threads", "8"}}), "GPU 1", 2, 16)});
  const json devices = section_of(document, "devices")["tables"][0];
  ASSERT_EQ(devices["lines"].size(), 2U);
  // The device with an error is first; 0 is a number, a counter that is missing is none.
  EXPECT_EQ(devices["lines"][0]["cells"],
            json({"", "GPU 1", "2: xid 79 2", "3: ecc corrected dram 3", "pcie_width 16"}));
  EXPECT_EQ(devices["lines"][1]["cells"],
            json({"", "GPU 0", "0", "3: ecc corrected dram 3", "pcie_width 8 to 16"}));
  EXPECT_EQ(devices["lines"][1]["numbers"][2], 0);
}

json burnt(double faulty, double slowing) {
  json measured = row("ok", 1);
  json windows = json::array();
  for (int i = 0; i < 20; ++i)
    windows.push_back({{"unix_s", 1e9 + 60 * i},
                       {"seconds", 10 + slowing * (i >= 10) + 0.01 * (i * 7 % 10)},
                       {"runs", 100}});
  measured["burn"] = {{"started_unix_s", 1e9},
                      {"device", "cpu"},
                      {"places", {"n: processors 0"}},
                      {"wall_s", 1300},
                      {"seconds", 900},
                      {"check_s", 9},
                      {"runs", 2000},
                      {"poisoned", 1500},
                      {"faulty", faulty},
                      {"undecided", 0},
                      {"data", json::array()},
                      {"windows", windows},
                      {"faults", json::array()},
                      {"power_w", json::object()},
                      {"device_hours", 0.25},
                      {"faults_per_device_hour", faulty * 4},
                      {"limit_per_device_hour", 12}};
  return measured;
}

TEST(Evidence, ABurnInHasItsFaultsItsLimitAndItsCourse) {
  const json burn = section_of(document_of({burnt(0, 1)}), "burn");
  const json& line = burn["tables"][0]["lines"][0];
  EXPECT_EQ(line["cells"][4], "1500");
  EXPECT_EQ(line["cells"][5], "0");
  EXPECT_EQ(line["cells"][7], "12") << "-ln(0.05) / 0.25 hours";
  EXPECT_TRUE(test::has(line["cells"][8], "+9.9 %") || test::has(line["cells"][8], "+10")) << line;
  const json& points = burn["curves"][0]["points"];
  ASSERT_EQ(points.size(), 20U);
  EXPECT_EQ(points[0]["minutes"], 0);
  EXPECT_NEAR(points[19]["minutes"], 19, 1e-9);
  EXPECT_LT(points[0]["ratio"], 1);
  EXPECT_GT(points[19]["ratio"], 1);
}

TEST(Evidence, StorageHasWhatItHasMoved) {
  json io = row("ok", 0.5, 0, {{"operation", "read"}, {"ranks", "4"}});
  io["benchmark"] = "io";
  io["rates"] = {{"bytes_per_s", 4e8}};
  io["metrics"] = {{"storage_ratio", {{"value", 1.01}, {"unit", ""}, {"better", ""}}},
                   {"read_p99_s", {{"value", 2e-3}, {"unit", "s"}, {"better", "lower"}}}};
  const json line = section_of(document_of({io}), "storage")["tables"][0]["lines"][0];
  EXPECT_EQ(line["cells"][0], "read");
  EXPECT_EQ(line["cells"][5], "400 MB/s");
  EXPECT_EQ(line["cells"][6], "101 %");
  EXPECT_EQ(line["cells"][7], "-") << "the device has not told";
  EXPECT_EQ(line["cells"][8], "read 99 % within 2.00 ms");
}

TEST(Evidence, LinksHaveTheLinksThatABisectionNames) {
  json bisection = test::collective(1e6, 0.1);
  bisection["parameters"]["ranks"] = 4;
  bisection["metrics"] = {{"slow_links", {{"value", 1}, {"unit", ""}, {"better", "lower"}}},
                          {"slow_link_h1+h3", {{"value", 2}, {"unit", ""}, {"better", "lower"}}}};
  const json table = section_of(document_of({bisection}), "links")["tables"][0];
  EXPECT_FALSE(table.contains("matrix"));
  EXPECT_EQ(table["lines"][0]["cells"][2], "1");
  EXPECT_EQ(table["lines"][0]["cells"][3], "h1+h3 takes 2 times as long");
}

/// A later launch may name a link that the first has not, or be served from memory.
TEST(Evidence, EveryLaunchCounts) {
  std::vector<json> bisections, reads;
  for (const int launch : {0, 1}) {
    json bisection = test::collective(1e6, 0.1);
    bisection["launch"] = launch;
    bisection["parameters"]["ranks"] = 4;
    bisection["metrics"] = {{"slow_links", {{"value", launch}, {"unit", ""}, {"better", "lower"}}}};
    if (launch == 1)
      bisection["metrics"]["slow_link_h1+h3"] = {{"value", 2}, {"unit", ""}, {"better", "lower"}};
    bisections.push_back(bisection);
    json io = row("ok", 0.5, launch, {{"operation", "read"}, {"ranks", "4"}});
    io["benchmark"] = "io";
    io["rates"] = {{"bytes_per_s", 4e8}};
    io["metrics"] = {
        {"storage_ratio", {{"value", launch == 0 ? 1.01 : 0.5}, {"unit", ""}, {"better", ""}}}};
    reads.push_back(io);
  }
  const json links = section_of(document_of(bisections), "links")["tables"][0]["lines"];
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0]["cells"][2], "1");
  EXPECT_EQ(links[0]["cells"][3], "h1+h3 takes 2 times as long");
  const json storage = section_of(document_of(reads), "storage")["tables"][0]["lines"];
  ASSERT_EQ(storage.size(), 1U);
  EXPECT_EQ(storage[0]["cells"][6], "50 %");
}

TEST(Evidence, BlameHasALineOrTheReasonWhyThereIsNone) {
  json blamed = test::collective(1e6, 0.1);
  blamed["blame"] = {{"unsupported", "no arrivals"}};
  const json line = section_of(document_of({blamed}), "blame")["tables"][0]["lines"][0];
  EXPECT_EQ(line["note"], "unsupported: no arrivals");
  Blame blame;
  blame.period = "the timed steps";
  blame.events = blame.runs = 100;
  blame.seconds = 10;
  for (int rank = 0; rank < 2; ++rank) {
    Blame::Rank& of = blame.ranks.emplace_back();
    of.rank = rank;
    of.host = "h";
    of.place = "processors 0";
    of.compute_s = 8;
    of.wait_s = 1;
  }
  const auto line_of = [&] {
    judge(blame);
    blamed["blame"] = blame;
    blamed["parameters"]["ranks"] = 2;
    return section_of(document_of({blamed}), "blame")["tables"][0]["lines"][0];
  };
  EXPECT_EQ(line_of()["note"],
            "nobody in the timed steps: each rank costs less than 1.5 %, within 0.0 %");
  blame.ranks[1].cost_s = 1;
  blame.ranks[1].low_s = 0.95;
  blame.ranks[1].high_s = 1.05;
  EXPECT_EQ(line_of()["cells"].back(), "the timed steps");
}

}  // namespace test_evidence
}  // namespace assay
