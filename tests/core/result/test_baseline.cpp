#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/program/plugins.hpp"
#include "core/result/baseline.hpp"
#include "core/result/schema.hpp"
#include "kernels/conv/problem.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_baseline {

using fixture::Folder;
using nlohmann::json;

json measured(const std::string& problem, const std::string& precision = "fp32",
              const std::string& algorithm = "direct") {
  json row = fixture::row(fixture::good_outcome(), 0, 0, fixture::one_case(precision, algorithm));
  row["problem"] = {{"descriptor", problem}};
  row["executed"]["algorithm"] = algorithm;
  return row;
}

TEST(Baseline, AnUnknownNameGetsTheNearest) {
  try {
    Baseline::load("deepbench-v10");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'deepbench-v100'"), std::string::npos)
        << error.what();
  }
}

TEST(Baseline, RefusesABrokenFile) {
  const Folder folder;
  json document = fixture::result({measured("a")});
  document["rows"][0]["status"] = "good";
  write_json(folder.path() / "b.json", document);
  EXPECT_THROW(Baseline::load((folder.path() / "b.json").string()), InputError);
}

/// Gives a row that tests have changed an id that names ranks and nodes alone.
void name_again(json& row) {
  if (row.value("published", false)) return;
  const std::string benchmark = row["benchmark"];
  std::string id = row["id"];
  if (!id.starts_with(benchmark + "/")) id = benchmark + "/" + id;
  std::string form = id;
  for (const auto& [name, value] : row["parameters"].items()) {
    const bool counts = (name == "ranks" || name == "nodes") && value != 1;
    form += counts ? fmt::format("/{{{}}}", name) : fmt::format("[/{}]", name);
    if (counts) id += "/" + value.dump();
  }
  row["id"] = id;
  row["id_form"] = form;
}

/// A baseline of these rows.
Baseline made(const std::vector<json>& rows) {
  const Folder folder;
  json document = fixture::result(rows);
  document["system"]["name"] = "other";
  document["environments"].push_back(document["environments"][0]);
  document["environments"][1]["hashes"]["hardware"] = "another machine";
  for (json& row : document["rows"]) name_again(row);
  write_json(folder.path() / "b.json", document);
  return Baseline::load((folder.path() / "b.json").string());
}

/// A measured row whose samples are all `seconds`.
json timed(json row, double seconds) {
  for (json& sample : row["samples_s"]) sample = seconds;
  for (const char* key : {"median", "min", "p95", "p99"}) row["time_s"][key] = seconds;
  row["time_s"]["mad"] = 0;
  row["time_s"]["n_effective"] = row["samples_s"].size();
  row["time_s"]["ci95"] = {seconds, seconds};
  row["rates"] = json::object();
  // An id of another kind than make_id's, which would have to name problem and parameters.
  row["id"] =
      "timed " + row["id"].get<std::string>() + row["parameters"]["algorithm"].get<std::string>();
  return row;
}

TEST(Match, WhatDefinesTheWorkMustAgree) {
  const Baseline baseline = made({timed(measured("p"), 0.2)});
  std::string why;
  json row = timed(measured("p"), 0.1);
  ASSERT_FALSE(fixture::match(baseline, row, &why).is_null()) << why;
  EXPECT_DOUBLE_EQ(fixture::match(baseline, row)["speedup"], 2);
  EXPECT_EQ(fixture::match(baseline, row)["published"], false);
  const auto differs = [&](const char* key, const json& value, const char* said) {
    json other = row;
    other["parameters"][key] = value;
    std::string reason;
    EXPECT_TRUE(fixture::match(baseline, other, &reason).is_null()) << key;
    EXPECT_NE(reason.find(said), std::string::npos) << reason;
  };
  differs("direction", "bwd_data", "direction is bwd_data here and forward there");
  differs("precision", "bf16", "precision is bf16 here and fp32 there");
  differs("cache", "cold", "cache is cold here and hot there");
  differs("reader", "bare_loop", "reader is bare_loop here and pipeline there");
  differs("nodes", 2, "nodes is 2 here and 1 there");
  differs("ranks", 4, "ranks is 4 here");
  differs("input_mode", "synthetic", "input_mode");
  json piped = row;
  piped["parameters"]["reader"] = "pipeline";  // as of older rows, which do not say so
  EXPECT_FALSE(fixture::match(baseline, piped, &why).is_null()) << why;
  for (const char* how : {"threads", "backend", "layout", "device"}) {
    json other = row;
    other["parameters"][how] = "x";
    EXPECT_FALSE(fixture::match(baseline, other).is_null()) << how;
  }
  json other = row;
  other["problem"]["descriptor"] = "q";
  EXPECT_TRUE(fixture::match(baseline, other, &why).is_null());
  EXPECT_EQ(why, "other has no row of this problem");
  other = row;
  other["benchmark"] = "gemm";
  EXPECT_TRUE(fixture::match(baseline, other, &why).is_null());
}

/// Core knows no dimension of a benchmark: its rows say which of them describe the system.
TEST(Match, ARowDeclaresWhichParametersDescribeTheSystem) {
  const auto with = [](double seconds, const json& lanes, const json& declared) {
    json row = timed(measured("p"), seconds);
    row["parameters"]["lanes"] = lanes;
    if (!declared.is_null()) row["system_parameters"] = declared;
    return row;
  };
  const json system = {"backend", "lanes"}, work = {"backend"}, older;
  const auto matched = [](const json& row, const json& base) {
    std::string why;
    return fixture::match(made({base}), row, &why).is_null() ? why : "matched";
  };
  const std::string differs = "lanes is 1 here and 2 there";
  EXPECT_EQ(matched(with(0.1, 1, system), with(0.2, 2, system)), "matched");
  EXPECT_SAYS(matched(with(0.1, 1, older), with(0.2, 2, older)), differs);
  EXPECT_SAYS(matched(with(0.1, 1, work), with(0.2, 2, work)), differs);
  // If they disagree, the work differs: of a list as of the names that older rows follow.
  EXPECT_SAYS(matched(with(0.1, 1, system), with(0.2, 2, work)), differs);
  EXPECT_SAYS(matched(with(0.1, 1, system), with(0.2, 2, older)), differs);
  // A name that older rows use for the system is the work's where a benchmark says so.
  json row = timed(measured("p"), 0.1);
  const json base = timed(measured("p"), 0.2);
  row["parameters"]["checkpoint"] = "every step";
  EXPECT_EQ(matched(row, base), "matched");
  row["system_parameters"] = {"backend"};
  EXPECT_SAYS(matched(row, base), "checkpoint is every step here");
}

TEST(Match, TheFlopDefinitionMustAgree) {
  json base = timed(measured("p"), 0.2), row = timed(measured("p"), 0.1);
  base["problem"]["flops"] = 100;
  row["problem"]["flops"] = 90;
  std::string why;
  EXPECT_TRUE(fixture::match(made({base}), row, &why).is_null());
  EXPECT_NE(why.find("FLOP count"), std::string::npos) << why;
  row["problem"]["flops"] = 100.0;
  EXPECT_FALSE(fixture::match(made({base}), row).is_null());
}

TEST(Match, TheGlobalBatchMustAgree) {
  json base = timed(measured("p"), 0.2), row = timed(measured("p"), 0.1);
  base["problem"]["global_batch_size"] = 256;
  row["problem"]["global_batch_size"] = 512;
  std::string why;
  EXPECT_TRUE(fixture::match(made({base}), row, &why).is_null());
  EXPECT_NE(why.find("the global batch size is 512 here and 256 there"), std::string::npos) << why;
  row["problem"].erase("global_batch_size");
  EXPECT_NE(fixture::match(made({base}), row)["note"].get<std::string>().find("batch"),
            std::string::npos);
}

TEST(Match, RanksOfOneWholeProblemMayDiffer) {
  json base = timed(measured("p"), 0.2), row = timed(measured("p"), 0.1);
  base["parameters"]["ranks"] = 42;
  EXPECT_TRUE(fixture::match(made({base}), row).is_null());
  base["problem"]["size"] = row["problem"]["size"] = 8e9;
  EXPECT_FALSE(fixture::match(made({base}), row).is_null());
}

TEST(Match, APublishedSizeIsKnownByTheNameOfTheProblem) {
  json row = timed(measured("n4000000d250", "fp64"), 0.5);
  row["benchmark"] = "pca";
  row["names"] = {"coral2/8GB"};
  row["problem"]["size"] = 8e9;
  row["parameters"] = {{"precision", "fp64"}, {"data", "normal"}, {"ranks", 2}, {"nodes", 1}};
  const Baseline summit = Baseline::load("summit");
  std::string why;
  const json match = fixture::match(summit, row, &why);
  ASSERT_TRUE(match.is_object()) << why;
  EXPECT_DOUBLE_EQ(match["speedup"], 1.9 / 0.5);  // of three, the best
  EXPECT_NE(match["note"].get<std::string>().find("not given there: data, precision"),
            std::string::npos)
      << match["note"];
  EXPECT_EQ(match["not_given"], json({"data", "precision"}));
  const auto differs = [&](const char* said, const std::function<void(json&)>& change) {
    json other = row;
    change(other);
    EXPECT_TRUE(fixture::match(summit, other, &why).is_null()) << said;
    EXPECT_NE(why.find(said), std::string::npos) << why;
  };
  differs("the size in bytes is", [](json& other) { other["problem"]["size"] = 4e9; });
  differs("no row of this problem", [](json& other) { other["names"] = json::array(); });
  differs("no row of this problem", [](json& other) { other["names"] = {"coral2/9GB"}; });
  differs("nodes is 4 here", [](json& other) { other["parameters"]["nodes"] = 4; });
  differs("clusters is 3 here and 2+3+4 there", [](json& other) {
    other["benchmark"] = "kmeans";
    other["parameters"]["clusters"] = 3;
  });
  // A measured row tells all that defines it.
  json measured_there = timed(measured("8GB"), 0.2);
  measured_there["benchmark"] = "pca";
  measured_there["problem"]["size"] = 8e9;
  measured_there["parameters"] = {{"precision", "fp64"}, {"ranks", 2}};
  EXPECT_TRUE(fixture::match(made({measured_there}), row, &why).is_null());
  EXPECT_NE(why.find("data is normal here and not given there"), std::string::npos) << why;
}

TEST(Match, AScaledProblemIsNotTheWhole) {
  json row = timed(measured("p"), 0.1), base = timed(measured("p"), 0.2);
  row["parameters"]["scale"] = 1;  // as a row of the whole has it, and an older one does not
  EXPECT_TRUE(fixture::match(made({base}), row).is_object());
  row["parameters"]["scale"] = "1/16";
  std::string why;
  EXPECT_TRUE(fixture::match(made({base}), row, &why).is_null());
  EXPECT_NE(why.find("scale is 1/16 here and 1 there"), std::string::npos) << why;
  base["parameters"]["scale"] = "1/16";
  EXPECT_TRUE(fixture::match(made({base}), row).is_object());
}

TEST(Match, AFigureOfMeritIsOfTheWholeMachine) {
  json row = timed(measured("n512000000d250", "fp64"), 100);
  row["benchmark"] = "pca";
  row["names"] = {"coral2/1024GB"};
  row["problem"]["size"] = 1.024e12;
  row["parameters"] = {{"precision", "fp64"}, {"conform", "coral2"}, {"ranks", 64}, {"nodes", 32}};
  row["rates"] = {{"figure_of_merit", 1.5e12}, {"input_bytes_per_s", 1.5e12}};
  const Baseline titan = Baseline::load("titan");
  std::string why;
  const json match = fixture::match(titan, row, &why);
  ASSERT_TRUE(match.is_object()) << why;
  EXPECT_EQ(match["unit"], "figure_of_merit");
  EXPECT_DOUBLE_EQ(match["speedup"], 1.5 / 6.0);
  EXPECT_EQ(match["projection"], true);
  const std::string note = match["note"];
  EXPECT_NE(note.find("nodes is 18688 there, 32 here"), std::string::npos) << note;
  EXPECT_NE(note.find("a projection: ensemble of 30 jobs"), std::string::npos) << note;
  const auto differs = [&](const char* said, const std::function<void(json&)>& change) {
    json other = row;
    change(other);
    EXPECT_TRUE(fixture::match(titan, other, &why).is_null()) << said;
    EXPECT_NE(why.find(said), std::string::npos) << why;
  };
  differs("scale is 1/2 here and 1 there",
          [](json& other) { other["parameters"]["scale"] = "1/2"; });
  differs("the size in bytes is", [](json& other) { other["problem"]["size"] = 8e9; });
  // The run did not ask to conform: one job's nodes are other nodes, and it has no figure.
  differs("conform is none here and coral2 there", [](json& other) {
    other["parameters"].erase("conform");
    other["parameters"]["nodes"] = 18688;
  });
}

TEST(Match, TheFastestWhereThatIsAskedFor) {
  json slow = timed(measured("p", "fp32", "direct"), 0.4),
       fast = timed(measured("p", "fp32", "winograd"), 0.2);
  slow["id"] = "slow";
  fast["id"] = "fast";
  const Baseline both = made({slow, fast});
  const json row = timed(measured("p", "fp32", "direct"), 0.1);
  EXPECT_DOUBLE_EQ(fixture::match(both, row)["speedup"], 4);
  EXPECT_DOUBLE_EQ(fixture::match(both, row, nullptr, Preference::fastest)["speedup"], 2);
}

TEST(Match, WherePicksByValue) {
  json base = timed(measured("p"), 0.2), other = timed(measured("p"), 0.1);
  base["parameters"]["smt"] = 1;
  other["parameters"]["smt"] = 2;
  other["id"] = "other";
  const Baseline both = made({base, other});
  EXPECT_DOUBLE_EQ(fixture::match(both.where("smt", "1"), timed(measured("p"), 0.1))["value"], 0.2);
  EXPECT_DOUBLE_EQ(fixture::match(both.where("smt", "2"), timed(measured("p"), 0.1))["value"], 0.1);
  EXPECT_TRUE(both.where("smt", "3").rows().empty());
}

/// The errors of a published row with these parts.
std::vector<std::string> published_errors(const json& time, const json& rates, bool published) {
  json row = measured("p");
  for (const char* part : {"samples_s", "verification"}) row.erase(part);
  row["published"] = published;
  row["citation"] = "Paper";
  row["printed"] = {{"value", 1}, {"unit", "x"}, {"text", "1"}, {"reason", nullptr}};
  row["time_s"] = time;
  row["rates"] = rates;
  return find_schema_errors(fixture::result({row}), "result", "x");
}

TEST(PublishedRows, HaveATimeOrARate) {
  EXPECT_TRUE(published_errors({{"median", 1.0}}, json::object(), true).empty());
  EXPECT_TRUE(published_errors(nullptr, {{"images_per_s", 905}}, true).empty());
  EXPECT_FALSE(published_errors(nullptr, json::object(), true).empty());
  EXPECT_FALSE(published_errors(nullptr, {{"images_per_s", nullptr}}, true).empty());
  EXPECT_FALSE(published_errors(nullptr, {{"images_per_s", 0}}, true).empty());
  EXPECT_FALSE(published_errors(nullptr, {{"images_per_s", 905}}, false).empty());
  json measured_row = measured("p");
  measured_row["time_s"] = nullptr;
  measured_row["rates"] = {{"images_per_s", 905}};
  EXPECT_FALSE(find_schema_errors(fixture::result({measured_row}), "result", "x").empty());
}

TEST(Match, OnlyOkRowsHaveARatio) {
  Outcome outcome;
  outcome.status = "failed";
  outcome.reason = "it crashed.";
  json failed = fixture::row(outcome);
  failed["problem"]["descriptor"] = "p";
  failed["id"] = "of another kind than make_id's";
  const json ok = timed(measured("p"), 0.1);
  std::string why;
  EXPECT_TRUE(fixture::match(made({ok}), failed, &why).is_null());
  EXPECT_NE(why.find("failed"), std::string::npos) << why;
  EXPECT_TRUE(fixture::match(made({failed}), ok, &why).is_null());
  EXPECT_NE(why.find("failed"), std::string::npos) << why;
}

TEST(Match, TheSameAlgorithmElseTheFastest) {
  const json direct = timed(measured("p", "fp32", "direct"), 0.3),
             winograd = timed(measured("p", "fp32", "winograd"), 0.2),
             gemm = timed(measured("p", "fp32", "gemm"), 0.25);
  const Baseline baseline = made({direct, winograd, gemm});
  EXPECT_DOUBLE_EQ(fixture::match(baseline, direct)["value"], 0.3);
  EXPECT_TRUE(fixture::match(baseline, direct)["note"].is_null());
  EXPECT_EQ(fixture::match(baseline, direct)["algorithm"], "direct");
  const json match = fixture::match(baseline, timed(measured("p", "fp32", "fft"), 0.1));
  EXPECT_DOUBLE_EQ(match["value"], 0.2);
  EXPECT_EQ(match["algorithm"], "winograd");
  EXPECT_NE(match["note"].get<std::string>().find("another algorithm: winograd there, fft here"),
            std::string::npos);
}

TEST(Match, WhatRanCountsBeforeWhatWasAsked) {
  json chosen = timed(measured("p", "fp32", "auto"), 0.3);  // "auto" that ran direct
  chosen["executed"]["algorithm"] = "direct";
  const Baseline baseline = made({chosen, timed(measured("p", "fp32", "winograd"), 0.2)});
  EXPECT_DOUBLE_EQ(fixture::match(baseline, timed(measured("p", "fp32", "direct"), 0.1))["value"],
                   0.3);
}

TEST(Match, LaunchesHaveAMedian) {
  std::vector<json> rows;
  for (const double seconds : {0.1, 0.5, 0.2}) {
    rows.push_back(timed(measured("p"), seconds));
    rows.back()["launch"] = static_cast<int>(rows.size());
  }
  EXPECT_DOUBLE_EQ(fixture::match(made(rows), rows[0])["value"], 0.2);
}

/// A launch of the same case as `timed`, without a time.
json without_time(const std::string& status, int launch) {
  Outcome outcome = fixture::good_outcome();
  outcome.status = status;
  outcome.reason = "why it is " + status + ".";
  json row = fixture::row(outcome, launch);
  const json like = timed(measured("p"), 1);
  for (const char* part : {"id", "problem"}) row[part] = like[part];
  return row;
}

TEST(Match, OneBadLaunchLeavesNoNumber) {
  const json ok = timed(measured("p"), 0.2);
  for (const char* status : {"incorrect", "failed", "timeout"}) {
    std::string why;
    EXPECT_TRUE(fixture::match(made({ok, without_time(status, 1)}), ok, &why).is_null()) << status;
    EXPECT_NE(why.find(std::string(status) + " (in 1 of 2 launches: why"), std::string::npos)
        << why;
  }
  // A later attempt at the same launch makes good a crash, never a wrong result; in any order.
  json again = ok;
  again["attempt"] = 1;
  EXPECT_FALSE(fixture::match(made({without_time("failed", 0), again}), ok).is_null());
  EXPECT_FALSE(fixture::match(made({again, without_time("failed", 0)}), ok).is_null());
  EXPECT_TRUE(fixture::match(made({without_time("incorrect", 0), again}), ok).is_null());
  EXPECT_TRUE(fixture::match(made({again, without_time("incorrect", 0)}), ok).is_null());
}

TEST(Match, EnvironmentsAreNotMixed) {
  std::vector<json> rows;
  for (const double seconds : {0.1, 0.2, 0.7, 0.8, 0.9}) {
    rows.push_back(timed(measured("p"), seconds));
    rows.back()["launch"] = static_cast<int>(rows.size());
    rows.back()["environment"] = seconds < 0.5 ? 1 : 0;
  }
  const json match = fixture::match(made(rows), rows[0]);
  EXPECT_DOUBLE_EQ(match["value"], (0.1 + 0.2) / 2);  // all five together: 0.7
  EXPECT_NE(match["note"].get<std::string>().find("it ran in 2 different environments"),
            std::string::npos);
}

TEST(Match, GivesAValidBaselineObject) {
  json row = timed(measured("p"), 0.1);
  row["baseline"] = fixture::match(made({timed(measured("p"), 0.2)}), row);
  EXPECT_TRUE(find_schema_errors(fixture::result({row}), "result", "x").empty());
}

}  // namespace test_baseline
}  // namespace assay
