// The files of results-schema/baselines/: every number cited, in SI units as printed, and compared
// only with what it is comparable with.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "core/result/baseline.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/rnn/problem.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_shipped_baselines {

using nlohmann::json;

json measured(const std::string& problem, const std::string& precision = "fp32",
              const std::string& algorithm = "direct") {
  json row = fixture::row(fixture::good_outcome(), 0, 0, fixture::one_case(precision, algorithm));
  row["problem"] = {{"descriptor", problem}};
  row["executed"]["algorithm"] = algorithm;
  return row;
}

/// Operations, time and rate follow from each other; the descriptor stands in the id.
void expect_consistent(const json& row, double flops) {
  const std::string descriptor = row["problem"]["descriptor"];
  ASSERT_NE(row["id"].get<std::string>().find("/" + descriptor + "/"), std::string::npos);
  ASSERT_EQ(flops, row["problem"]["flops"].get<double>()) << row["id"];
  if (row["rates"].contains("flops_per_s")) {
    ASSERT_NEAR(
        row["rates"]["flops_per_s"].get<double>() * row["time_s"]["median"].get<double>() / flops,
        1, 1e-8);
  }
}

void expect_canonical_conv(const json& row) {
  const std::string descriptor = row["problem"]["descriptor"];
  const ConvShape shape = parse_conv(descriptor);
  ASSERT_EQ(to_descriptor(shape), descriptor);
  const std::map<std::string, ConvDirection> directions{
      {"forward", ConvDirection::forward},
      {"bwd_data", ConvDirection::bwd_data},
      {"bwd_weights", ConvDirection::bwd_weights}};
  const ConvProblem problem(shape, directions.at(row["parameters"]["direction"]),
                            precision(row["parameters"]["precision"].get<std::string>()));
  expect_consistent(row, problem.flops());
}

void expect_canonical_gemm(const json& row) {
  const std::string descriptor = row["problem"]["descriptor"];
  const GemmShape shape = parse_gemm(descriptor);
  ASSERT_EQ(to_descriptor(shape), descriptor);
  ASSERT_EQ(shape.beta, 1);  // DeepBench's README: alpha = beta = 1
  const GemmProblem problem(shape, precision(row["parameters"]["precision"].get<std::string>()));
  expect_consistent(row, problem.flops());
}

void expect_canonical_rnn(const json& row) {
  const std::string descriptor = row["problem"]["descriptor"];
  const RnnShape shape = parse_rnn(descriptor);
  ASSERT_EQ(to_descriptor(shape), descriptor);
  const json& parameters = row["parameters"];
  ASSERT_EQ(parameters["input"], "skip");
  const RnnProblem problem(shape, RnnInput::skip,
                           parse_name<RnnDirection>(parameters["direction"].get<std::string>()),
                           precision(parameters["precision"].get<std::string>()));
  expect_consistent(row, problem.flops());
}

/// The printed unit, in SI units.
double scale_of(const std::string& unit) {
  static const std::map<std::string, double> scales{{"ms", 1e-3},
                                                    {"s", 1},
                                                    {"secs", 1},
                                                    {"mins", 60},
                                                    {"hour", 3600},
                                                    {"hours", 3600},
                                                    {"images/s", 1},
                                                    {"TB/s", 1e12},
                                                    {"TFLOP/s", 1e12},
                                                    {"TFLOP/s per GPU", 1e12},
                                                    {"PFLOP/s", 1e15},
                                                    {"EFLOP/s", 1e18},
                                                    {"% of 1024 GB/s", 1024e9 / 100},
                                                    {"% of 2.7 TFLOP/s", 2.7e12 / 100}};
  return scales.at(unit);
}

TEST(ShippedBaselines, AreValidCitedAndCanonical) {
  const std::vector<std::string> names = list_baseline_names();
  EXPECT_EQ(names.size(), 25u);
  std::map<std::string, std::size_t> rows;
  for (const std::string& name : names) {
    const Baseline baseline = Baseline::load(name);
    EXPECT_EQ(baseline.system(), name);
    std::set<std::string> ids;
    for (const json row : baseline.rows()) {
      ++rows[row["status"]];
      ASSERT_TRUE(row.value("published", false)) << row["id"];
      ASSERT_FALSE(row["citation"].get<std::string>().empty());
      ASSERT_TRUE(ids.insert(row["id"].get<std::string>() + row["launch"].dump() +
                             row["environment"].dump())
                      .second)
          << row["id"];
      if (row["benchmark"] == "conv") expect_canonical_conv(row);
      if (row["benchmark"] == "gemm" && name.starts_with("deepbench-")) expect_canonical_gemm(row);
      if (row["benchmark"] == "rnn" && name.starts_with("deepbench-")) expect_canonical_rnn(row);
      const json& printed = row["printed"];
      if (row["status"] != "ok") {
        EXPECT_TRUE(printed["value"].is_null()) << row["id"];
        EXPECT_FALSE(printed["reason"].get<std::string>().empty()) << row["id"];
        continue;
      }
      const double number = row["time_s"].is_object() ? row["time_s"]["median"].get<double>()
                                                      : row["rates"].begin()->get<double>();
      const double expected = printed["value"].get<double>() * scale_of(printed["unit"]);
      ASSERT_NEAR(number, expected, 1e-12 * expected) << row["id"];
    }
  }
  // The baselines have all conv times of DeepBench without the sheets' own sums, all gemm times,
  // all rnn times; summit, summitdev, titan, fugaku, v100, a100, h100, sapphire-rapids, the
  // records, the exascale runs, CANDLE on a K80.
  EXPECT_EQ(rows["ok"] + rows["unsupported"],
            4502u - 188u + 2579 + 1797 + 24 + 30 + 4 + 20 + 5 + 4 + 1 + 1 + 6 + 7 + 2);
  // Power9's SVM (a damaged cell, three that are not given), the exaflop.
  EXPECT_EQ(rows["unsupported"], 1u + 3 + 1);
}

TEST(ShippedBaselines, HoldKnownCells) {
  const Baseline v100 = Baseline::load("deepbench-v100");
  json row = measured("mb16ic2048ih7oc512oh7kh1");
  std::string why;
  const json match = fixture::match(v100, row, &why);
  ASSERT_FALSE(match.is_null()) << why;
  EXPECT_DOUBLE_EQ(match["value"], 0.000236);  // DeepBench_NV_V100.xlsx 'Results FP32'!N269
  EXPECT_EQ(match["published"], true);
  EXPECT_NE(match["citation"].get<std::string>().find("'Results FP32'!N269"), std::string::npos);
  EXPECT_NE(match["citation"].get<std::string>().find("Apache-2.0"), std::string::npos);
  EXPECT_EQ(match["algorithm"], "implicit_gemm");
  EXPECT_DOUBLE_EQ(match["speedup"], 0.000236 / row["time_s"]["median"].get<double>());
  EXPECT_TRUE(why.empty());
}

TEST(ShippedBaselines, HoldTheRecurrentNetworksOfDeepBench) {
  // Passes that each sheet has of the 53 problems of training and the 69 of inference.
  const std::map<std::string, std::map<std::string, std::size_t>> passes{
      {"deepbench-v100",
       {{"forward_training", 2 * 53}, {"bwd_data", 2 * 53}, {"bwd_weights", 106}}},
      {"deepbench-p100", {{"forward_training", 2 * 53}, {"bwd_data", 2 * 53}, {"bwd_weights", 53}}},
      {"deepbench-1080ti", {{"forward_training", 53 + 69}, {"bwd_data", 53}, {"bwd_weights", 53}}},
      {"deepbench-titanxp", {{"forward_training", 53 + 69}, {"bwd_data", 53}, {"bwd_weights", 53}}},
      {"deepbench-titanx-pascal",
       {{"forward_training", 53 + 69}, {"bwd_data", 53}, {"bwd_weights", 53}}},
      {"deepbench-titanx-maxwell",
       {{"forward_training", 53}, {"bwd_data", 53}, {"bwd_weights", 53}}},
      {"deepbench-m40", {{"forward_training", 53}, {"bwd_data", 53}, {"bwd_weights", 53}}},
      {"deepbench-mi25", {{"forward_training", 53}, {"bwd_data", 53}}},
      {"deepbench-vega-fe", {{"forward_training", 53}, {"bwd_data", 53}}}};
  std::map<std::string, std::map<std::string, std::size_t>> found;
  std::size_t of_inference = 0, of_one_column = 0;
  for (const std::string& name : list_baseline_names()) {
    if (!name.starts_with("deepbench-")) continue;
    const Baseline sheet = Baseline::load(name);
    for (const json row : sheet.rows()) {
      if (row["benchmark"] != "rnn") continue;
      ++found[name][row["parameters"]["direction"]];
      const std::string reason = row["printed"]["reason"];
      if (reason.find("the sheet is of inference") != std::string::npos) {
        EXPECT_TRUE(row["names"][0].get<std::string>().starts_with("deepbench-server/")) << row;
        ++of_inference;
      }
      if (reason.find("ran backward data only") != std::string::npos) ++of_one_column;
    }
  }
  EXPECT_EQ(found, passes);
  EXPECT_EQ(of_inference, 3u * 69);
  EXPECT_EQ(of_one_column, 3u * 53);

  const Baseline v100 = Baseline::load("deepbench-v100");
  json row = measured("lstm:1024-64-25");
  row["benchmark"] = "rnn";
  row["parameters"]["direction"] = "bwd_data";
  row["parameters"]["input"] = "skip";
  std::string why;
  const json match = fixture::match(v100, row, &why);
  ASSERT_TRUE(match.is_object()) << why;
  EXPECT_DOUBLE_EQ(match["value"], 0.002044);
  row["parameters"]["input"] = "linear";
  EXPECT_TRUE(fixture::match(v100, row).is_null());
}

TEST(ShippedBaselines, DeepBenchRowsSayWhatTheirRateIs) {
  // Six sheets compute output sizes without rounding down: wrong in 26 training problems, each in
  // three passes.
  const std::map<std::string, std::size_t> unrounded{{"deepbench-1080ti", 78},
                                                     {"deepbench-titanxp", 78},
                                                     {"deepbench-p100", 156},
                                                     {"deepbench-mi25", 78},
                                                     {"deepbench-vega-fe", 78}};
  for (const std::string& name : list_baseline_names()) {
    if (!name.starts_with("deepbench-")) continue;
    std::size_t said = 0;
    const Baseline sheet = Baseline::load(name);
    for (const json row : sheet.rows()) {
      const std::string reason = row["printed"]["reason"];
      EXPECT_NE(reason.find("nominal operations"), std::string::npos) << row["id"];
      if (reason.find("does not round the output size") == std::string::npos) continue;
      ++said;
      const ConvShape s = parse_conv(row["problem"]["descriptor"]);
      EXPECT_TRUE((s.ih + 2 * s.ph - s.kh) % s.sh != 0 || (s.iw + 2 * s.pw - s.kw) % s.sw != 0)
          << row["id"];
    }
    EXPECT_EQ(said, unrounded.contains(name) ? unrounded.at(name) : 0u) << name;
  }
}

TEST(ShippedBaselines, UnknownIterationCountsAreNotCompared) {
  for (const char* name : {"summit", "summitdev"}) {
    const Baseline baseline = Baseline::load(name);
    std::string why;
    EXPECT_TRUE(
        fixture::match(baseline,
                       measured("mb16ic64ih112oc128oh112kh3ph1", "fp16", "winograd_nonfused"), &why)
            .is_null());
    EXPECT_NE(why.find("iteration count not published"), std::string::npos) << why;
    for (const char* problem : {"lstm:1024-64-25", "gru_lbr:1024-64-1500"}) {
      json row = measured(problem, "fp16");
      row["benchmark"] = "rnn";
      row["parameters"]["input"] = "skip";
      EXPECT_TRUE(fixture::match(baseline, row, &why).is_null());
      EXPECT_NE(why.find("not given there"), std::string::npos) << why;
      // Not by what the slides leave out alone: a row that leaves it out, too, has no ratio.
      row["published"] = true;
      row["parameters"]["direction"] = row["parameters"]["input"] = nullptr;
      EXPECT_TRUE(fixture::match(baseline, row, &why).is_null());
      EXPECT_NE(why.find("iteration count not published"), std::string::npos) << why;
    }
  }
}

/// The row of this id.
json row_of(const std::string& baseline, const std::string& id) {
  const Baseline loaded = Baseline::load(baseline);
  for (const json row : loaded.rows())
    if (row["id"] == id) return row;
  ADD_FAILURE() << baseline << " has no " << id;
  return {};
}

TEST(ShippedBaselines, TwoSystemsOfOneSourceAreCompared) {
  const Baseline summit = Baseline::load("summit");
  std::string why;
  const json conv = row_of(
      "summitdev", "conv/forward/fp16/cudnn/winograd_nonfused/mb16ic64ih112oc128oh112kh3ph1/hot");
  const json match = fixture::match(summit, conv, &why);
  ASSERT_TRUE(match.is_object()) << why;
  EXPECT_DOUBLE_EQ(match["speedup"], 2.99 / 5.1);
  EXPECT_FALSE(match.contains("ratio_printed"));
  json of_another = conv;
  of_another["comparable_within"] = "another source";
  EXPECT_TRUE(fixture::match(summit, of_another).is_null());

  // 0.3 / 0.33 is no 1.27: the printed ratio was made of other digits. Either way round.
  const char* nccl = "allreduce/fp16/nccl/100000/nodes4";
  const json over = fixture::match(summit, row_of("summitdev", nccl), &why);
  ASSERT_TRUE(over.is_object()) << why;
  EXPECT_EQ(over["value"], 0.33);
  EXPECT_EQ(over["ratio_printed"], "1.27x");
  EXPECT_DOUBLE_EQ(over["speedup"], 1 / 1.27);
  const json under = fixture::match(Baseline::load("summitdev"), row_of("summit", nccl), &why);
  ASSERT_TRUE(under.is_object()) << why;
  EXPECT_EQ(under["value"], 0.3);
  EXPECT_EQ(under["ratio_printed"], "1.27x");
  EXPECT_DOUBLE_EQ(under["speedup"], 1.27);
  EXPECT_EQ(
      fixture::match(summit, row_of("summitdev", "allreduce/fp16/mpi/100000/nodes4"))["value"],
      0.46);
}

TEST(ShippedBaselines, DamagedAndMissingCellsGiveNoNumber) {
  const Baseline smt1 = Baseline::load("summit").where("smt", "1");
  for (const auto& [id, said] :
       {std::pair{"svm/8GB/smt1", "damaged"}, std::pair{"svm/64GB/smt1", "no number"}}) {
    const json row = row_of("summit", id);
    EXPECT_TRUE(row["time_s"].is_null());
    std::string why;
    EXPECT_TRUE(fixture::match(smt1, row_of("summitdev", id), &why).is_null());
    EXPECT_NE(why.find(said), std::string::npos) << why;
  }
}

TEST(ShippedBaselines, LayoutsStaySeparateFromSmt) {
  const json row = row_of("summitdev", "kmeans/8GB/smt8");
  const json& parameters = row["parameters"];
  EXPECT_EQ(parameters["smt"], 8);
  EXPECT_EQ(parameters["threads"], 8);
  EXPECT_EQ(parameters["ranks"], 20);
  EXPECT_EQ(parameters["architecture"], "Power8");
  EXPECT_EQ(parameters["workload"], "K-means");
  EXPECT_EQ(row["problem"]["size"], 8000000000);
  const json first = row_of("summitdev", "kmeans/8GB/smt1");
  EXPECT_TRUE(first["parameters"]["threads"].is_null());
  EXPECT_NE(first["printed"]["reason"].get<std::string>().find("not legible"), std::string::npos);
}

TEST(ShippedBaselines, RatesMatchRates) {
  json row = row_of("a100", "resnet50/training/mixed/pytorch/nodes1");
  std::string why;
  const Baseline v100 = Baseline::load("v100");
  const json match = fixture::match(v100, row, &why);
  ASSERT_TRUE(match.is_object()) << why;
  EXPECT_EQ(match["unit"], "images_per_s");
  EXPECT_EQ(match["value"], 1200);  // PyTorch's, although MXNet's 1376 is greater
  EXPECT_DOUBLE_EQ(match["speedup"], 2470.0 / 1200);
  // The V100's 905 has no precision: nothing matches it.
  row["parameters"]["precision"] = "bf16";
  EXPECT_TRUE(fixture::match(v100, row, &why).is_null());
  EXPECT_NE(why.find("precision is bf16 here"), std::string::npos) << why;
  // No unit in common.
  row["parameters"]["precision"] = "mixed";
  row["rates"] = json::object();
  row["time_s"] = {{"median", 0.1}};
  EXPECT_TRUE(fixture::match(v100, row, &why).is_null());
  EXPECT_NE(why.find("no common unit"), std::string::npos) << why;
}

TEST(ShippedBaselines, FugakusNodeHasThreeStages) {
  // The chart's labels run together in the text; the factors beside them put them in order.
  const std::map<std::string, std::array<double, 3>> stages{
      {"training/fp32/pytorch", {25.1, 81.0, 98.7}},
      {"inference/fp32/pytorch", {99.1, 323.6, 384.5}},
      {"training/fp32/tensorflow", {9.3, 85.6, 86.9}},
      {"inference/fp32/tensorflow", {7.7, 293.1, 294.8}}};
  for (const auto& [name, images] : stages) {
    std::size_t stage = 0;
    for (const auto& [variant, tuning] :
         {std::pair{"/untuned", "untuned"}, std::pair{"/onednn", "oneDNN aarch64"},
          std::pair{"", "tuned"}}) {
      const json row = row_of("fugaku", "resnet50/" + name + "/nodes1" + variant);
      EXPECT_EQ(row["rates"]["images_per_s"], images[stage]) << row;
      EXPECT_EQ(row["parameters"]["tuning"], tuning) << row;
      EXPECT_EQ(row["status"], "ok");
      EXPECT_NE(row["printed"]["reason"].get<std::string>().find("placed by arithmetic"),
                std::string::npos)
          << row;
      ++stage;
    }
  }
}

TEST(ShippedBaselines, APrintedRatioBelongsToOneCell) {
  // In J. Yin's slides the ratios of SVM stand in the column of Power9's SMT 1, the damaged cell.
  std::size_t ratios = 0;
  const Baseline summitdev = Baseline::load("summitdev");
  for (const json row : summitdev.rows()) {
    const json printed = row["printed"].value("ratios", json::array());
    std::set<std::string> cells;
    for (const json& ratio : printed) EXPECT_TRUE(cells.insert(ratio["row"]).second) << row;
    ratios += printed.size();
    if (row["benchmark"] != "svm" || row["problem"]["descriptor"] != "8GB") continue;
    EXPECT_EQ(cells, std::set<std::string>{"svm/8GB/smt1"});
  }
  EXPECT_EQ(ratios, 4u * 4 * 3 + 4 + 6);  // as many as the slides print
}

/// The row of one GPU of a DGX A100 in the cited version of the README.
TEST(ShippedBaselines, TrainingOnA100IsAsItsSourcePrintsIt) {
  EXPECT_EQ(row_of("a100", "resnet50/training/mixed/mxnet/nodes1")["printed"]["text"], "2180");
  EXPECT_EQ(row_of("a100", "resnet50/training/tf32/mxnet/nodes1")["printed"]["text"], "1022");
}

TEST(ShippedBaselines, WhatWeReadIntoASourceIsSaid) {
  std::size_t said = 0;
  for (const char* name : {"summit", "summitdev"}) {
    const Baseline baseline = Baseline::load(name);
    for (const json row : baseline.rows())
      if (row["benchmark"] == "conv") {
        const std::string reason = row["printed"]["reason"];
        EXPECT_NE(reason.find("forward, hot and one node are our reading"), std::string::npos)
            << reason;
        ++said;
      }
  }
  EXPECT_EQ(said, 4u);
}

TEST(ShippedBaselines, UnknownNodesMatchNothingKnown) {
  json row = row_of("fugaku", "hpl/fugaku");
  row["parameters"]["nodes"] = 1;
  std::string why;
  EXPECT_TRUE(fixture::match(Baseline::load("fugaku"), row, &why).is_null());
  EXPECT_NE(why.find("nodes is 1 here and not given there"), std::string::npos) << why;
  // Titan's figures are of the whole machine: one job's nodes are other nodes.
  row = row_of("titan", "pca/1024GB/fp64/fom");
  row["parameters"]["nodes"] = 18688;
  row["parameters"].erase("conform");
  const json match = fixture::match(Baseline::load("titan"), row, &why);
  EXPECT_TRUE(match.is_null()) << match;
}

}  // namespace test_shipped_baselines
}  // namespace assay
