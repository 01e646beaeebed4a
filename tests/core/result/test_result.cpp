#include <gtest/gtest.h>
#include <re2/re2.h>

#include <cmath>
#include <limits>

#include "core/base/clock.hpp"
#include "core/result/impossible.hpp"
#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_result {

using fixture::expect_valid;
using fixture::good_outcome;
using nlohmann::json;

TEST(Row, AnOkRowIsCompleteAndValid) {
  const json row = fixture::row(good_outcome());
  expect_valid(row);
  EXPECT_EQ(row["status"], "ok");
  EXPECT_TRUE(row["reason"].is_null());
  EXPECT_EQ(row["samples_s"].size(), 12u);
  EXPECT_EQ(row["time_s"]["n"], 12);
  EXPECT_DOUBLE_EQ(row["time_s"]["median"], 0.161);
  EXPECT_DOUBLE_EQ(row["rates"]["flops_per_s"], 29595009024.0 / 0.161);
  EXPECT_EQ(row["rates"]["flops_per_s"], row["rates"]["algorithmic_flops_per_s"]);
  EXPECT_EQ(row["parameters"]["threads"], 2);
  EXPECT_EQ(row["parameters"]["ranks"], 1);
  EXPECT_FALSE(row["parameters"].contains("problem"));
  EXPECT_EQ(row["executed"]["tile"], 4);
  EXPECT_TRUE(row["executed"]["layout"].is_null());
  EXPECT_TRUE(row["ceiling"].is_null());
  EXPECT_FALSE(row["ceiling_reason"].get<std::string>().empty());
  EXPECT_FALSE(row["energy_reason"].get<std::string>().empty());
}

TEST(Row, AlgorithmicRateCountsWhatTheAlgorithmDoes) {
  Outcome outcome = good_outcome();
  outcome.execution->algorithmic_flops = 29595009024.0 / 2.25;
  const json row = fixture::row(outcome);
  EXPECT_DOUBLE_EQ(row["rates"]["algorithmic_flops_per_s"].get<double>() * 2.25,
                   row["rates"]["flops_per_s"].get<double>());
}

TEST(Row, AnUnknownNumberOfOperationsHasNoRate) {
  for (const char* algorithm : {"winograd", "winograd_nonfused", "fft", "fft_tiling"}) {
    Outcome outcome = good_outcome();
    outcome.execution->algorithm = algorithm;
    EXPECT_FALSE(fixture::row(outcome)["rates"].contains("algorithmic_flops_per_s")) << algorithm;
    outcome.execution->algorithmic_flops = 161;
    EXPECT_DOUBLE_EQ(fixture::row(outcome)["rates"]["algorithmic_flops_per_s"], 161 / 0.161);
  }
  Outcome outcome = good_outcome();
  outcome.execution->algorithm = "implicit_gemm";
  const json row = fixture::row(outcome);
  EXPECT_EQ(row["rates"]["algorithmic_flops_per_s"], row["rates"]["flops_per_s"]);
}

/// A network's own algorithm is "direct", but backends choose others for its layers.
TEST(Row, ALayerThatSavesOperationsLeavesTheirNumberUnknown) {
  Outcome outcome = good_outcome();
  outcome.layers.resize(2);
  outcome.layers[0].execution.algorithm = "implicit_gemm";
  EXPECT_TRUE(fixture::row(outcome)["rates"].contains("algorithmic_flops_per_s"));
  outcome.layers[1].execution.algorithm = "winograd";
  EXPECT_FALSE(fixture::row(outcome)["rates"].contains("algorithmic_flops_per_s"));
  EXPECT_TRUE(fixture::row(outcome)["rates"].contains("flops_per_s"));
  outcome.layers[1].execution.algorithm = "chosen";
  outcome.layers[1].execution.algorithmic_flops = 161;
  EXPECT_FALSE(fixture::row(outcome)["rates"].contains("algorithmic_flops_per_s"));
}

TEST(Row, WhatAComputationDoesNotHideIsOfTheSamples) {
  Outcome outcome = good_outcome();
  EXPECT_FALSE(fixture::row(outcome)["executed"].contains("exposed_s"));
  outcome.execution->numbers["compute_s"] = 0.1;
  const json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_DOUBLE_EQ(row["executed"]["exposed_s"], 0.161 - 0.1);
  outcome.status = "failed";
  EXPECT_FALSE(fixture::row(outcome)["executed"].contains("exposed_s")) << "nothing was timed";
}

TEST(Row, EnergyIsTheSumOfItsDomains) {
  Outcome outcome = good_outcome();
  outcome.timing->energy.joules = {{"package-0", 2.5}, {"package-0/dram", 0.25}};
  json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_EQ(row["energy_j"], 2.75);
  EXPECT_EQ(row["energy_domains_j"], json({{"package-0", 2.5}, {"package-0/dram", 0.25}}));
  EXPECT_TRUE(row["energy_reason"].is_null());
  fixture::take_back(row, "impossible");
  expect_valid(row);
  EXPECT_TRUE(row["energy_j"].is_null());
  EXPECT_TRUE(row["energy_domains_j"].is_null());
  EXPECT_EQ(row["energy_reason"], "the row has no time");
  outcome.status = "failed";
  row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_TRUE(row["energy_j"].is_null()) << "nothing was timed";
}

TEST(Row, TheDurationOfKernelsIsOfVerifiedRunsAlone) {
  Outcome outcome = good_outcome();
  outcome.execution->numbers["kernels_s"] = 5e-6;
  json row = fixture::row(outcome);
  EXPECT_EQ(row["executed"]["kernels_s"], 5e-6);
  expect_valid(row);
  fixture::take_back(row, "impossible");
  expect_valid(row);
  EXPECT_FALSE(row["executed"].contains("kernels_s"));
  outcome.status = "failed";
  row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_FALSE(row["executed"].contains("kernels_s"));
}

TEST(Row, MetricsAreOfVerifiedRunsAlone) {
  Outcome outcome = good_outcome();
  EXPECT_FALSE(fixture::row(outcome).contains("metrics"));
  outcome.metrics = {{"inertia", {1.25e7, "", "lower"}}, {"iterations", {12, "", ""}}};
  outcome.series = {{.epoch = 1, .seconds = 2.5}};
  json row = fixture::row(outcome);
  EXPECT_TRUE(row.contains("epochs"));
  expect_valid(row);
  EXPECT_EQ(row["metrics"]["inertia"],
            json({{"value", 1.25e7}, {"unit", ""}, {"better", "lower"}}));
  EXPECT_TRUE(row["metrics"]["iterations"]["better"].is_null());
  fixture::take_back(row, "impossible");
  expect_valid(row);
  EXPECT_FALSE(row.contains("metrics"));
  EXPECT_FALSE(row.contains("epochs"));
  outcome.verification->passed = false;
  row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_FALSE(row.contains("metrics")) << "the results were wrong";
}

TEST(Row, EnergyThatIsNotKnownHasAReason) {
  Outcome outcome = good_outcome();
  outcome.timing->energy.reason = "no counter";
  const json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_TRUE(row["energy_j"].is_null());
  EXPECT_EQ(row["energy_reason"], "no counter");
}

TEST(Row, FewSamplesHaveNoIntervalButAReason) {
  Outcome outcome = good_outcome();
  EXPECT_TRUE(fixture::row(outcome)["time_s"]["ci95"].is_array());
  outcome.timing->samples = {0.2};
  json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_TRUE(row["time_s"]["ci95"].is_null());
  EXPECT_EQ(row["time_s"]["ci95_reason"], "1 effective samples, a 95 % interval needs 6");
  row["time_s"]["ci95_reason"] = nullptr;
  EXPECT_FALSE(find_schema_errors(fixture::result({row}), "result", "x.json").empty());
}

TEST(Row, AnIncorrectRowHasItsErrorsButNoTime) {
  Outcome outcome = good_outcome();
  outcome.verification->passed = false;
  outcome.verification->max_error = std::numeric_limits<double>::infinity();
  outcome.verification->reason = "dst[3,1,0,7] is 2.5 (expected 2.25 within 1e-6).";
  for (const char* status :
       {"ok", "incorrect"}) {  // whoever forgets to look at the verification is put right
    outcome.status = status;
    const json row = fixture::row(outcome);
    expect_valid(row);
    EXPECT_EQ(row["status"], "incorrect");
    EXPECT_EQ(row["reason"], outcome.verification->reason);
    EXPECT_TRUE(row["time_s"].is_null());
    EXPECT_TRUE(row["samples_s"].empty());
    EXPECT_TRUE(row["rates"].empty());
    EXPECT_TRUE(row["verification"]["max_error"].is_null());
    EXPECT_EQ(row["verification"]["checked"], 4096);
  }
}

TEST(Row, OtherStatesHaveAReasonAndNoTime) {
  for (const char* status : {"unsupported", "failed", "timeout"})
    for (const bool started : {false, true}) {
      Outcome outcome = started ? good_outcome() : Outcome{};
      outcome.status = status;
      outcome.reason = "winograd: could not create a primitive descriptor";
      const json row = fixture::row(outcome);
      expect_valid(row);
      EXPECT_EQ(row["reason"], outcome.reason);
      EXPECT_TRUE(row["time_s"].is_null());
      EXPECT_TRUE(row["rates"].empty());
    }
  Outcome silent;
  silent.status = "failed";
  EXPECT_FALSE(fixture::row(silent)["reason"].get<std::string>().empty());
}

TEST(Row, NothingUnverifiedBecomesOk) {
  Outcome unverified = good_outcome(), untimed = good_outcome(), unknown = good_outcome();
  unverified.verification.reset();
  EXPECT_THROW(fixture::row(unverified), std::logic_error);
  untimed.timing->samples.clear();
  EXPECT_THROW(fixture::row(untimed), std::logic_error);
  unknown.execution.reset();
  EXPECT_THROW(fixture::row(unknown), std::logic_error);
  for (const double bad : {-1e-9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Outcome outcome = good_outcome();
    outcome.timing->samples[5] = bad;
    const json row = fixture::row(outcome);
    EXPECT_EQ(row["status"], "failed");
    expect_valid(row);
  }
}

TEST(Result, RoundTripAndFolder) {
  const fixture::Folder folder;
  const json document =
      fixture::result({fixture::row(good_outcome()), fixture::row(good_outcome(), 1)});
  write_json(folder.path() / "result.json", document);
  EXPECT_EQ(json(read_result(folder.path() / "result.json")), document);
  EXPECT_EQ(json(read_result(folder.path())), document);
}

TEST(Result, ARunAlwaysHasAnId) {
  const json object = make_result(make_header("", "", "assay-conv", 1, format_utc_now()));
  EXPECT_FALSE(object["run"]["id"].get<std::string>().empty());
  EXPECT_TRUE(object["run"]["suite"].is_null());
  EXPECT_TRUE(find_schema_errors(object, "result", "x").empty());
}

/// read_result's message for a document that was spoilt.
std::string refusal(const json& document) {
  const fixture::Folder folder;
  write_json(folder.path() / "spoilt.json", document);
  try {
    read_result(folder.path() / "spoilt.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Result, RefusesWhatASchemaCannotSee) {
  const json good =
      fixture::result({fixture::row(good_outcome()), fixture::row(good_outcome(), 1)});
  json twice = good;
  twice["rows"][1]["launch"] = 0;
  EXPECT_NE(refusal(twice).find("/rows/1: found a second row"), std::string::npos)
      << refusal(twice);
  json astray = good;
  astray["rows"][1]["environment"] = 1;
  EXPECT_NE(refusal(astray).find("/rows/1/environment: found 1, expected less than 1"),
            std::string::npos)
      << refusal(astray);
  json polished = good;
  polished["rows"][0]["time_s"]["median"] = 0.1;
  EXPECT_NE(refusal(polished).find("/rows/0/time_s/median: found 0.1, expected 0.161"),
            std::string::npos)
      << refusal(polished);
  json shortened = good;
  shortened["rows"][0]["samples_s"].erase(0);
  EXPECT_NE(refusal(shortened).find("/rows/0/time_s/n"), std::string::npos) << refusal(shortened);
  EXPECT_EQ(refusal(good), "accepted");
}

TEST(Result, NumbersMustFollowFromEachOther) {
  json good = fixture::result({fixture::row(good_outcome())});
  json& row = good["rows"][0];
  row["problem"]["flops"] = 29595009024.0;
  row["baseline"] = {
      {"system", "x"},      {"value", 0.322},
      {"unit", "s"},        {"speedup", 0.322 / row["time_s"]["median"].get<double>()},
      {"published", false}, {"citation", nullptr}};
  ASSERT_EQ(refusal(good), "accepted");
  const auto refused = [&](const std::string& pointer, const json& value, const std::string& said) {
    json spoilt = good;
    spoilt.at(json::json_pointer("/rows/0" + pointer)) = value;
    const std::string message = refusal(spoilt);
    EXPECT_NE(message.find("/rows/0" + said), std::string::npos) << pointer << ": " << message;
  };
  for (const char* part : {"mad", "min", "p95", "p99", "n_effective"})
    refused("/time_s/" + std::string(part), 0.01, "/time_s/" + std::string(part) + ": found 0.01");
  refused("/time_s/ci95/0", 0.1609, "/time_s/ci95/0: found 0.1609");
  refused("/time_s/ci95/1", 0.1611, "/time_s/ci95/1: found 0.1611");
  refused("/rates/flops_per_s", 1e12, "/rates/flops_per_s: found 1000000000000.0");
  refused("/problem/flops", 1e10, "/rates/flops_per_s: found");
  refused("/rates/algorithmic_flops_per_s", 1e12, "/rates/algorithmic_flops_per_s: found");
  refused("/executed/algorithmic_flops", 1e9, "/rates/algorithmic_flops_per_s: found");
  refused("/executed/algorithm", "winograd",
          "/rates/algorithmic_flops_per_s: found");  // of unknown operations
  refused("/baseline/speedup", 3, "/baseline/speedup: found 3");
  refused("/verification/error_over_bound", 1.5, "/verification/error_over_bound: found 1.5");
  refused("/parameters/precision", "bf16", "/parameters/precision: found \"bf16\"");
  refused("/parameters/backend", "reference", "/parameters/backend: found \"reference\"");
  refused("/parameters/cache", "cold", "/parameters/cache: found \"cold\"");
  // One sample has no interval, whoever writes one.
  Outcome single = good_outcome();
  single.timing->samples = {0.2};
  json object = fixture::result({fixture::row(single)});
  EXPECT_EQ(refusal(object), "accepted");
  object["rows"][0]["time_s"]["ci95"] = {0.2, 0.2};
  EXPECT_NE(refusal(object).find("/rows/0/time_s/ci95: found [0.2,0.2], expected null"),
            std::string::npos)
      << refusal(object);
}

TEST(Result, ACeilingFollowsFromItsBrackets) {
  json good = fixture::result({fixture::row(good_outcome())});
  json& row = good["rows"][0];
  const double flops = 29595009024.0, median = row["time_s"]["median"];
  row["problem"].update({{"flops", flops}, {"bytes", 2e8}});
  row["ceiling"] = {{"flops_per_s", 4e11},   {"bytes_per_s", 1e10},
                    {"memory_bytes", 1e8},   {"level", "L3"},
                    {"bound_by", "compute"}, {"fraction", flops / 4e11 / median},
                    {"exceeded", false},     {"brackets", {0, 1}}};
  const auto stream = [](const char* amount, double work, double seconds) {
    return json{{"id", "stream"},
                {"id_form", "stream"},
                {"benchmark", "stream"},
                {"problem", {{"descriptor", "d"}, {amount, work}}},
                {"parameters", json::object()},
                {"executed", {{"algorithm", nullptr}, {"evidence", "library"}}},
                {"status", "ok"},
                {"reason", nullptr},
                {"verification",
                 {{"passed", true},
                  {"reference", "exact"},
                  {"max_error", 0.0},
                  {"norm_error", 0.0},
                  {"bound", 0.0}}},
                {"time_s",
                 {{"median", 2 * seconds},
                  {"mad", 0.0},
                  {"min", seconds},
                  {"p95", 2 * seconds},
                  {"p99", 3 * seconds}}},
                {"rates", {{std::string(amount) + "_per_s", work / (2 * seconds)}}}};
  };
  const auto bracket = [](const json& entry) {
    return json{
        {"started", "t"}, {"seconds", 1}, {"reason", nullptr}, {"rows", json::array({entry})}};
  };
  good["run"]["bracket"] = {bracket(stream("flops", 8e11, 2)), bracket(stream("bytes", 1e10, 1))};
  ASSERT_EQ(refusal(good), "accepted");
  const auto refused = [&](const json& changes, const std::string& said) {
    json spoilt = good;
    spoilt["rows"][0]["ceiling"].update(changes);
    const std::string message = refusal(spoilt);
    EXPECT_NE(message.find("/rows/0/ceiling" + said), std::string::npos) << changes << message;
  };
  refused({{"fraction", 0.1}}, "/fraction: found 0.1");
  refused({{"bound_by", "L3"}}, "/bound_by: found \"L3\", expected \"compute\"");
  refused({{"exceeded", true}}, "/exceeded: found true");
  refused({{"brackets", json::array({2})}}, "/brackets: found 2, expected less than 2");
  refused({{"flops_per_s", 2e11}, {"fraction", flops / 2e11 / median}},
          "/flops_per_s: found 200000000000.0, expected a rate of its brackets' rows");
  refused({{"bytes_per_s", 2e10}}, "/bytes_per_s: found 20000000000.0");
  refused({{"memory_bytes", 1e10}}, "/fraction: found");
  const auto refused_bracket = [&](const char* place, const json& value, const char* said) {
    json spoilt = good;
    json& first = spoilt["run"]["bracket"][0]["rows"][0];
    if (*place == '\0')
      first = value;
    else
      first[json::json_pointer(place)] = value;
    EXPECT_SAYS(refusal(spoilt), std::string("/run/bracket/0/rows/0") + said);
  };
  refused_bracket("", 1, ": found");
  for (const char* place : {"/problem", "/parameters", "/executed", "/time_s", "/rates", "/id"})
    refused_bracket(place, 5, place);
  refused_bracket("/time_s", nullptr, "/time_s: found null");
  refused_bracket("/time_s/median", 7, "/time_s/median: found 7, expected 2 to 6");
  refused_bracket("/rates/flops_per_s", 1e12, "/rates/flops_per_s: found 1000000000000.0");
  refused_bracket("/verification/max_error", 1.0, "/verification/max_error: found 1.0");
  refused_bracket("/id_form", 5, ": a field is not of the kind");
  // Bound by what its data come from.
  row["ceiling"].update(
      {{"flops_per_s", nullptr}, {"bound_by", "L3"}, {"fraction", 1e8 / 1e10 / median}});
  EXPECT_EQ(refusal(good), "accepted");
  refused({{"bound_by", "compute"}}, "/bound_by: found \"compute\", expected \"L3\"");
}

TEST(Result, ANewerVersionSaysSo) {
  json document = fixture::result({});
  document["schema"] = "assay-result/2";
  document["rows"] = "of another shape";
  const std::string message = refusal(document);
  EXPECT_NE(message.find("written by a newer version of Assay"), std::string::npos) << message;
  EXPECT_NE(message.find("assay-result/2"), std::string::npos);
  EXPECT_NE(message.find("assay-result/1"), std::string::npos);
  document["schema"] = "assay-suite/1";
  EXPECT_EQ(refusal(document).find("newer"), std::string::npos);
  document["schema"] = "assay-result/0";
  EXPECT_NE(refusal(document).find("expected \"assay-result/1\""), std::string::npos)
      << refusal(document);
}

TEST(ExitCodes, TheGravestRowDecides) {
  const auto row = [](const std::string& status, bool required = false, int attempt = 0,
                      int launch = 0, const std::string& id = "a") {
    return json{{"id", id},
                {"launch", launch},
                {"attempt", attempt},
                {"status", status},
                {"required", required}};
  };
  EXPECT_EQ(exit_code(json::array({row("ok")})), ExitCode::ok);
  EXPECT_EQ(exit_code({row("ok"), row("unsupported", false, 0, 0, "b")}), ExitCode::ok);
  EXPECT_EQ(exit_code({row("ok"), row("unsupported", true, 0, 0, "b")}), ExitCode::failed);
  EXPECT_EQ(exit_code({row("failed"), row("incorrect", false, 0, 0, "b"),
                       row("timeout", false, 0, 0, "c")}),
            ExitCode::incorrect);
  EXPECT_EQ(exit_code(json::array({row("timeout")})), ExitCode::failed);
  EXPECT_EQ(exit_code(json::array()), ExitCode::incomparable);
  // Nothing was measured, though nothing failed.
  EXPECT_EQ(exit_code({row("unsupported"), row("unsupported", false, 0, 0, "b")}),
            ExitCode::incomparable);
  EXPECT_EQ(exit_code(json::array({row("unsupported", true)})), ExitCode::failed);
  // A later attempt makes good a crash, not a wrong result, and only of its own launch.
  EXPECT_EQ(exit_code({row("failed"), row("ok", false, 1)}), ExitCode::ok);
  EXPECT_EQ(exit_code({row("ok", false, 1), row("failed")}), ExitCode::ok);
  EXPECT_EQ(exit_code({row("ok"), row("failed", false, 1)}), ExitCode::failed);
  EXPECT_EQ(exit_code({row("incorrect"), row("ok", false, 1)}), ExitCode::incorrect);
  EXPECT_EQ(exit_code({row("failed"), row("ok", false, 1, 1)}), ExitCode::failed);
  // A missed target is no wrong result, and as little a crash.
  EXPECT_EQ(exit_code(json::array({row("target missed")})), ExitCode::target_missed);
  EXPECT_EQ(exit_code({row("target missed"), row("ok", false, 1)}), ExitCode::target_missed);
  EXPECT_EQ(exit_code({row("target missed"), row("failed", false, 0, 0, "b")}), ExitCode::failed);
  EXPECT_EQ(exit_code({row("target missed"), row("incorrect", false, 0, 0, "b")}),
            ExitCode::incorrect);
}

TEST(Now, IsRfc3339InUtc) {
  EXPECT_TRUE(RE2::FullMatch(format_utc_now(), R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"))
      << format_utc_now();
}

}  // namespace test_result
}  // namespace assay
