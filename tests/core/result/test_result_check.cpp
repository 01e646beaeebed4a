// Numbers and settings of a row that were changed where no recomputed time shows it.
#include "core/result/result_check.hpp"

#include <gtest/gtest.h>

#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_result_check {

using fixture::good_outcome;
using nlohmann::json;

std::string refusal(const json& document) {
  const fixture::Folder folder;
  write_json(folder.path() / "result.json", document);
  return fixture::message_of([&] { read_result(folder.path() / "result.json"); });
}

std::string refusal_of_row(const json& row) { return refusal(fixture::result({row})); }

/// The message about `row` with another value at one place.
std::string refusal_of(json row, const std::string& pointer, const json& value) {
  row[json::json_pointer(pointer)] = value;
  return refusal_of_row(row);
}

TEST(ResultCheck, OpenPartsOfAnotherKindAreInputErrors) {
  json document = fixture::result({fixture::row(good_outcome())});
  ASSERT_EQ(refusal(document), "accepted");
  document["run"]["launches"] = "three";
  EXPECT_SAYS(refusal(document), "at /run: found a field of another kind");
}

TEST(ResultCheck, ErrorsStayWithinTheirBounds) {
  const json row = fixture::row(good_outcome());
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/verification/norm_error", 2e-6),
              "/rows/0/verification/norm_error: found 2e-06, expected at most 1e-06");
  EXPECT_SAYS(refusal_of(row, "/verification/norm_bound", 1e-8),
              "/rows/0/verification/norm_error: found 2e-08, expected at most 1e-08");
  // No single error is larger than the 2-norm of all of them.
  EXPECT_SAYS(refusal_of(row, "/verification/max_error", 1e-5),
              "/rows/0/verification/max_error: found 1e-05, expected at most 1.28e-06");
  EXPECT_SAYS(refusal_of(row, "/verification/checked", 4), "/rows/0/verification/max_error: found");
  EXPECT_SAYS(refusal_of(row, "/verification/bound", 1e-4),
              "/rows/0/verification/max_error: found 1e-07, expected at least 1e-06");
  EXPECT_SAYS(refusal_of(row, "/verification/error_over_bound", 1.01),
              "/rows/0/verification/error_over_bound: found 1.01");
  EXPECT_SAYS(refusal_of(row, "/verification/checked", 25690113),
              "/rows/0/verification/checked: found 25690113, expected at most 25690112");
}

TEST(ResultCheck, LayersFollowFromTheirNumbers) {
  Outcome outcome = good_outcome();
  LayerTime layer;
  layer.layer = "conv1";
  layer.direction = "forward";
  layer.operation = "conv";
  layer.backend = "native";
  layer.seconds = 0.5;
  layer.flops = 1e9;
  layer.bytes = 1e6;
  outcome.layers = {layer, layer};
  outcome.layers[1].direction = "bwd_data";
  json row = fixture::row(outcome);
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_EQ(row["layers"][0]["rates"]["flops_per_s"], 2e9);
  EXPECT_EQ(row["layers"][0]["rates"]["bytes_per_s"], 2e6);
  EXPECT_SAYS(refusal_of(row, "/layers/1/rates/flops_per_s", 3e9), "/rows/0/layers/1/rates: found");
  EXPECT_SAYS(refusal_of(row, "/layers/1/seconds", 1), "/rows/0/layers/1/rates: found");
  EXPECT_SAYS(refusal_of(row, "/layers/1/direction", "forward"),
              "/rows/0/layers/1: found conv1 forward a second time");
  // Two layers of 0.5 s each stand beside the row's time.
  const json sum = row.value("layers_sum", json());
  ASSERT_TRUE(sum.is_object());
  EXPECT_EQ(sum["seconds"], 1.0);
  EXPECT_DOUBLE_EQ(sum["fraction"], 1 / row["time_s"]["median"].get<double>());
  EXPECT_EQ(sum["agrees"], false);
  EXPECT_SAYS(refusal_of(row, "/layers_sum/agrees", true), "/rows/0/layers_sum: found");
  EXPECT_SAYS(refusal_of(row, "/layers_sum/seconds", 0.9), "/rows/0/layers_sum: found");
  json without = row;
  without.erase("layers");
  EXPECT_SAYS(refusal_of_row(without), "/rows/0/layers_sum: found");
  row["layers"][1]["ceiling"] = {
      {"flops_per_s", 4e9}, {"bytes_per_s", nullptr}, {"fraction", 0.5}, {"bound_by", "compute"}};
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/layers/1/ceiling/fraction", 0.9),
              "/rows/0/layers/1/ceiling/fraction: found 0.9");
  outcome.layers.clear();
  EXPECT_FALSE(fixture::row(outcome).contains("layers"));
}

TEST(ResultCheck, LayersAgreeWithinATenthOfTheTime) {
  Outcome outcome = good_outcome();
  const double median = fixture::row(outcome)["time_s"]["median"];
  for (const auto& [fraction, agrees] :
       {std::pair{0.89, false}, {0.91, true}, {1.09, true}, {1.11, false}}) {
    outcome.layers.resize(1);
    outcome.layers[0].layer = "conv1";
    outcome.layers[0].seconds = fraction * median;
    EXPECT_EQ(fixture::row(outcome)["layers_sum"]["agrees"], agrees) << fraction;
  }
}

TEST(ResultCheck, AnErrorWithoutNormStaysWithinItsBound) {
  Outcome outcome = good_outcome();
  outcome.verification->norm_error = outcome.verification->norm_bound = 0;
  outcome.verification->error_over_bound = 0;
  const json row = fixture::row(outcome);
  EXPECT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/verification/max_error", 2e-5),
              "/rows/0/verification/max_error: found 2e-05, expected at most 1e-05");
}

TEST(ResultCheck, ARowWithoutNormTestSaysSo) {
  Outcome outcome = good_outcome();
  outcome.verification->norm_bound = 0;  // no oracle of ours, but one may give no norm bound
  const json row = fixture::row(outcome);
  EXPECT_TRUE(row["verification"]["norm_bound"].is_null());
  EXPECT_EQ(refusal_of_row(row), "accepted");
}

TEST(ResultCheck, ParametersStandInTheId) {
  Outcome refused;
  refused.status = "unsupported";
  refused.reason = "why";
  for (const Outcome& outcome : {good_outcome(), refused}) {
    json row = fixture::row(outcome);
    row["parameters"].update({{"device", "cpu"}, {"layout", "any"}});
    row["id_form"] =
        "conv/{direction}/{precision}/{backend}/{algorithm}/{problem}/{cache}/t{threads}"
        "[/layout=any][/device=cpu]";
    ASSERT_EQ(refusal_of_row(row), "accepted");
    EXPECT_SAYS(refusal_of(row, "/parameters/threads", 4), "/rows/0/parameters/threads: found 4");
    EXPECT_SAYS(refusal_of(row, "/parameters/direction", "bwd_data"),
                "/rows/0/parameters/direction: found \"bwd_data\"");
    // These are left out of the id at one value alone.
    EXPECT_SAYS(refusal_of(row, "/parameters/device", "gpu"),
                "/rows/0/parameters/device: found \"gpu\"");
    EXPECT_SAYS(refusal_of(row, "/parameters/layout", "nhwc"),
                "/rows/0/parameters/layout: found \"nhwc\"");
    const std::string id = row["id"];
    EXPECT_SAYS(refusal_of(row, "/id", id + "/layout=nhwc"),
                "/rows/0/parameters/layout: found \"any\"");
    EXPECT_SAYS(refusal_of(row, "/parameters/extra", 3), "/rows/0/parameters/extra: found 3");
    EXPECT_SAYS(refusal_of(row, "/parameters/ranks", 2), "/rows/0/parameters/ranks: found 2");
    EXPECT_SAYS(refusal_of(row, "/id", id + "/more"), "/rows/0/id: found");
    EXPECT_SAYS(refusal_of(row, "/id_form", "stream/{direction}"), "/rows/0/id_form: found");
    row["parameters"]["layout"] = "nhwc";
    EXPECT_EQ(refusal_of(row, "/id", id + "/layout=nhwc"), "accepted");
  }
}

TEST(ResultCheck, EveryMeasuredRowTellsHowItsIdIsMade) {
  Outcome refused;
  refused.status = "unsupported";
  refused.reason = "why";
  for (const Outcome& outcome : {good_outcome(), refused}) {
    json document = fixture::result({fixture::row(outcome)});
    ASSERT_EQ(refusal(document), "accepted");
    document["rows"][0].erase("id_form");
    EXPECT_SAYS(refusal(document), "id_form");
  }
}

TEST(ResultCheck, EnergyIsTheSumOfItsDomains) {
  Outcome outcome = good_outcome();
  outcome.timing->energy.joules = {{"package-0", 2.5}, {"package-1", 0.25}};
  json row = fixture::row(outcome);
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/energy_j", 2.5),
              "/rows/0/energy_j: found 2.5, expected 2.75 (the sum of /energy_domains_j)");
  EXPECT_SAYS(refusal_of(row, "/energy_domains_j", nullptr), "/rows/0/energy_domains_j");
  // The form is that of earlier versions.
  row = fixture::row(good_outcome());
  row.erase("energy_domains_j");
  row["energy_reason"] = "energy counters are not read yet";
  EXPECT_EQ(refusal_of_row(row), "accepted");
}

TEST(ResultCheck, EpochsFollowEachOtherAndEndAtTheMetrics) {
  Outcome outcome = good_outcome();
  outcome.metrics = {{"epochs", {3, "", "lower"}},
                     {"accuracy", {0.97, "", "higher"}},
                     {"time_to_accuracy_s", {30.5, "s", "lower"}}};
  outcome.series = {
      {.epoch = 2, .seconds = 20, .measures = {{"accuracy", 0.5}, {"training_loss", 1.5}}},
      {.epoch = 3, .seconds = 30.5, .measures = {{"accuracy", 0.97}, {"training_loss", 0.5}}}};
  const json row = fixture::row(outcome);
  ASSERT_EQ(row["epochs"].size(), 2U);
  EXPECT_EQ(row["epochs"][0],
            (json{{"epoch", 2}, {"seconds", 20}, {"accuracy", 0.5}, {"training_loss", 1.5}}));
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/epochs/1/accuracy", 0.98),
              "/rows/0/epochs/1/accuracy: found 0.98, expected 0.97 (/metrics/accuracy)");
  EXPECT_SAYS(refusal_of(row, "/metrics/epochs/value", 4),
              "/rows/0/epochs/1/epoch: found 3, expected 4.0 (/metrics/epochs)");
  EXPECT_SAYS(refusal_of(row, "/metrics/time_to_accuracy_s/value", 30),
              "/rows/0/epochs/1/seconds: found 30.5, expected 30.0 (/metrics/time_to_accuracy_s)");
  EXPECT_SAYS(refusal_of(row, "/epochs/0/epoch", 1), "/rows/0/epochs/1/epoch: found 3, expected");
  EXPECT_SAYS(refusal_of(row, "/epochs/0/seconds", 31), "/rows/0/epochs/1/seconds: found 30.5");
  EXPECT_SAYS(refusal_of(row, "/epochs/0/training_loss", nullptr),
              "/rows/0/epochs/0/training_loss");
  EXPECT_SAYS(refusal_of(row, "/epochs/0/accuracy", 1.5), "/rows/0/epochs/0/accuracy");
  EXPECT_SAYS(refusal_of(row, "/epochs", json::array()), "/rows/0/epochs");
  json lost = row;
  lost["epochs"][0].erase("seconds");
  EXPECT_SAYS(refusal_of_row(lost), "/rows/0/epochs/0");
}

TEST(ResultCheck, OnlyARowThatIsOkHasEpochs) {
  Outcome outcome = good_outcome();
  outcome.status = "failed";
  outcome.reason = "why";
  outcome.series = {{.epoch = 1, .seconds = 20}};
  const json row = fixture::row(outcome);
  EXPECT_FALSE(row.contains("epochs"));
  EXPECT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/epochs", {{{"epoch", 1}, {"seconds", 20}}}), "/rows/0/epochs");
}

TEST(ResultCheck, TheProblemStandsInTheId) {
  json row = fixture::row(good_outcome());
  row["problem"].update({{"mb", 16}, {"ic", 64}, {"kh", 3}, {"kw", 3}});
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/problem/descriptor", "mb16ic64ih112oc128oh112kh5ph2"),
              "/rows/0/problem/descriptor: found \"mb16ic64ih112oc128oh112kh5ph2\"");
  EXPECT_SAYS(refusal_of(row, "/problem/ic", 65),
              "/rows/0/problem/ic: found 65, expected 64 (the descriptor)");
}

json collective_row() {
  json row = fixture::row(good_outcome());
  row["benchmark"] = "collectives";
  row["id"] = "collectives/allreduce/fp32/mpi/ring/4096/r2/n1/placement=in_place";
  row["id_form"] =
      "collectives/{collective}/{precision}/{transport}/{algorithm}/{problem}/r{ranks}/n{nodes}"
      "[/op=sum][/placement=out_of_place][/root=0]";
  row["problem"] = {{"descriptor", "4096"}, {"bytes", 4096},       {"elements", 1024},
                    {"ranks", 2},           {"busbw_factor", 1.0}, {"flops", 0}};
  row["parameters"] = {{"collective", "allreduce"}, {"precision", "fp32"}, {"transport", "mpi"},
                       {"algorithm", "ring"},       {"ranks", 2},          {"nodes", 1},
                       {"placement", "in_place"},   {"op", "sum"},         {"root", 0}};
  row["rates"] = json::object();
  return row;
}

TEST(ResultCheck, SettingsOfACollectiveStandInTheId) {
  const json row = collective_row();
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/parameters/ranks", 4), "/rows/0/parameters/ranks: found 4");
  EXPECT_SAYS(refusal_of(row, "/parameters/nodes", 2), "/rows/0/parameters/nodes: found 2");
  EXPECT_SAYS(refusal_of(row, "/problem/ranks", 4), "/rows/0/problem/ranks: found 4, expected 2");
  EXPECT_SAYS(refusal_of(row, "/problem/bytes", 8192),
              "/rows/0/problem/bytes: found 8192, expected 4096");
  EXPECT_SAYS(refusal_of(row, "/parameters/placement", "out_of_place"),
              "/rows/0/parameters/placement: found \"out_of_place\"");
  // These the id leaves out, at one value alone.
  EXPECT_SAYS(refusal_of(row, "/parameters/op", "max"), "/rows/0/parameters/op: found \"max\"");
  EXPECT_SAYS(refusal_of(row, "/parameters/root", 1), "/rows/0/parameters/root: found 1");
}

/// A row as a benchmark writes it whose problem declares these rates.
json row_of_amounts(const json& amounts) {
  json row = collective_row();
  row["problem"]["amounts"] = amounts;
  const double median = row["time_s"]["median"];
  for (const auto& [name, amount] : amounts.items())
    row["rates"][name] = amount.get<double>() / median;
  return row;
}

TEST(ResultCheck, RatesAreTheAmountsOfTheProblemOverTheMedian) {
  // A rate of a name that core has never heard of.
  const json row = row_of_amounts({{"images_per_s", 32}, {"algbw", 4096}, {"busbw", 4096}});
  ASSERT_EQ(refusal_of_row(row), "accepted");
  EXPECT_SAYS(refusal_of(row, "/rates/images_per_s", 1e6),
              "/rows/0/rates/images_per_s: found 1000000.0");
  EXPECT_SAYS(refusal_of(row, "/problem/amounts/images_per_s", 64), "/rows/0/rates/images_per_s");
  EXPECT_SAYS(refusal_of(row, "/rates/flips_per_s", 1),
              "/rows/0/rates/flips_per_s: found 1, expected a rate of /problem/amounts");
  EXPECT_SAYS(refusal_of(row, "/problem/amounts", json::object()), "expected a rate of");
  // An amount that follows from other fields cannot be changed together with its rate.
  EXPECT_SAYS(refusal_of_row(row_of_amounts({{"busbw", 8192}})),
              "/rows/0/problem/amounts/busbw: found 8192");
}

TEST(ResultCheck, RatesOfFilesWithoutAmountsFollowFromTheProblemsFields) {
  json row = collective_row();
  const double median = row["time_s"]["median"];
  row["rates"] = {
      {"algbw", 4096 / median}, {"busbw", 4096 / median}, {"deepbench_bw", 8192 / median}};
  ASSERT_EQ(refusal_of_row(row), "accepted");
  for (const char* rate : {"algbw", "busbw", "deepbench_bw"})
    EXPECT_SAYS(refusal_of(row, std::string("/rates/") + rate, 1),
                std::string("/rows/0/rates/") + rate + ": found 1");
}

TEST(ResultCheck, ARowThatIsOkHasNoWrongElements) {
  const json row = fixture::row(good_outcome());
  EXPECT_EQ(row["verification"]["wrong"], 0);
  EXPECT_SAYS(refusal_of(row, "/verification/wrong", 2), "/rows/0/verification/wrong: found 2");
}

TEST(ResultCheck, EqualIdsHaveEqualParameters) {
  json first = fixture::row(good_outcome()), second = fixture::row(good_outcome(), 1);
  for (json* row : {&first, &second}) {  // of a benchmark of one's own
    (*row)["parameters"]["extra"] = 3;
    (*row)["id_form"] = (*row)["id_form"].get<std::string>() + "[/extra]";
  }
  ASSERT_EQ(refusal(fixture::result({first, second})), "accepted");
  second["parameters"]["extra"] = 4;
  EXPECT_SAYS(refusal(fixture::result({first, second})),
              "/rows/1/parameters/extra: found 4, expected 3");
}

TEST(ResultCheck, NoHashIsEmpty) {
  const json good = fixture::result({fixture::row(good_outcome())});
  for (const char* part : {"hardware", "software"}) {
    json spoilt = good;
    spoilt["environments"][0]["hashes"][part] = "";
    EXPECT_SAYS(refusal(spoilt), std::string("/environments/0/hashes/") + part);
    spoilt["environments"][0]["hashes"][part] = nullptr;
    EXPECT_EQ(refusal(spoilt), "accepted") << "unknown";
    json other = good;
    other["environments"][0]["other_hosts"] = {
        {{"host", "b"},
         {"volatile", json::object()},
         {"hashes", {{"hardware", "h"}, {"software", "s"}}}}};
    EXPECT_EQ(refusal(other), "accepted");
    other["environments"][0]["other_hosts"][0]["hashes"][part] = "";
    EXPECT_SAYS(refusal(other), std::string("/environments/0/other_hosts/0/hashes/") + part);
  }
  json suite = good;
  suite["run"]["suite_hash"] = "";
  EXPECT_SAYS(refusal(suite), "/run/suite_hash");
}

TEST(ResultCheck, NothingStandsBehindANul) {
  const fixture::Folder folder;
  const std::string text = fixture::result({fixture::row(good_outcome())}).dump();
  for (const std::string& tail : {std::string(1, '\0'), std::string("\0 more", 6)}) {
    const auto file = folder.put("result.json", text + tail);
    const std::string said = fixture::message_of([&] { read_result(file); });
    EXPECT_SAYS(said, "is not valid JSON at line 1, column " + std::to_string(text.size() + 1));
    EXPECT_SAYS(said, "NUL");
  }
  EXPECT_SAYS(fixture::message_of([&] { read_json(folder.put("a", std::string("\0{}", 3))); }),
              "line 1, column 1");
}

}  // namespace test_result_check
}  // namespace assay
