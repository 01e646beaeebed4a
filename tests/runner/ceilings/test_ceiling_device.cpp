// The ceiling of a row that ran on a GPU: what its own backend measured on the same GPU, and
// nothing of the processor.
#include <gtest/gtest.h>

#include "analysis/table/table.hpp"
#include "runner/ceilings/ceiling.hpp"
#include "runner/ceilings/ceiling_bracket.hpp"
#include "tests/support/rows.hpp"

namespace test_ceiling_device {

using namespace assay;
using nlohmann::json;

constexpr double l2 = 50e6;
const std::string name = "a GPU of this test";

json environment(const json& gpu = name, const json& cache = l2) {
  return {
      {"host", "h"},
      {"hardware", {{"caches", {{{"level", 1}, {"type", "data"}, {"bytes", 1000}, {"count", 2}}}}}},
      {"software", {{"libraries", {{"cuda", {{"gpu", gpu}, {"l2_bytes", cache}}}}}}},
      {"volatile", json::object()},
      {"hashes", {{"hardware", "a"}, {"software", "b"}}}};
}

/// A row of assay-stream on the GPU: `rate` in its best sample, over a working set of `bytes`.
json stream(const std::string& kernel, const std::string& precision, double rate, double bytes,
            const std::string& status = "ok") {
  const double work = 1e9;
  json row = {
      {"id", "stream/" + precision + "/" + kernel},
      {"benchmark", "stream"},
      {"problem",
       {{"descriptor", kernel + "_n1"},
        {"flops", work},
        {"bytes", work},
        {"passes", work / bytes}}},
      {"parameters",
       {{"precision", precision}, {"threads", 64}, {"backend", "cuda"}, {"device", "gpu"}}},
      {"executed", nullptr},
      {"status", status},
      {"reason", status == "ok" ? json() : json("why it is " + status)},
      {"time_s", status == "ok" ? json{{"min", work / rate}, {"median", work / rate}} : json()},
      {"rates", json::object()},
      {"measured_on", name}};
  return row;
}

json bracket(std::vector<json> rows) {
  return {
      {"started", "2026-01-01T00:00:00.000Z"}, {"seconds", 1}, {"reason", nullptr}, {"rows", rows}};
}

/// fp16 at 8e14 FLOP/s, memory at 3e12 B/s (less by the smaller arrays, of which more is in the
/// cache, though they look faster), the L2 cache at 6e12 B/s; a processor's beside it.
json plain() {
  json of_processor = stream("fma", "fp16", 1e20, 1),
       its_memory = stream("triad", "fp64", 1e20, 1e9);
  for (json* row : {&of_processor, &its_memory}) {
    (*row)["parameters"]["backend"] = "native";
    (*row)["parameters"]["device"] = "cpu";
  }
  return bracket({stream("matmul", "fp16", 8e14, 1e9), stream("matmul", "fp32", 6e13, 1e9),
                  stream("triad", "fp64", 2.9e12, 3e9), stream("copy", "fp64", 3e12, 2e9),
                  stream("triad", "fp64", 9e12, 7e8), stream("read", "fp64", 4e12, 2e6),
                  stream("read", "fp64", 6e12, 16e6), of_processor, its_memory});
}

json row_of(double seconds, double flops, double bytes, const std::string& cache = "hot") {
  json row = test::row(
      "ok", seconds, 0,
      {{"backend", "cuda"}, {"device", "gpu"}, {"precision", "fp16"}, {"cache", cache}}, 0, flops);
  row["problem"]["bytes"] = bytes;
  return row;
}

json with_ceiling(json row, const json& around, const json& where = environment()) {
  Row judged = row;
  add_ceiling(judged, {around.get<Bracket>()}, {0}, where, "nothing was measured");
  return judged;
}

std::string reason(const json& row, const json& around, const json& where = environment()) {
  const json made = with_ceiling(row, around, where);
  EXPECT_TRUE(made["ceiling"].is_null()) << made["ceiling"];
  return made["ceiling_reason"].is_string() ? made["ceiling_reason"].get<std::string>() : "";
}

TEST(CeilingDevice, BoundByTheProductsOfItsLibrary) {
  const json row = with_ceiling(row_of(2, 8e14, 1e6), plain());
  ASSERT_TRUE(row["ceiling"].is_object()) << row["ceiling_reason"];
  EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 8e14);
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.5);
  EXPECT_EQ(row["ceiling"]["bound_by"], "compute");
}

TEST(CeilingDevice, ColdDataComeFromItsMemoryAsTheLargestArraysMeasureIt) {
  const json row = with_ceiling(row_of(1, 1, 1.5e12, "cold"), plain());
  ASSERT_TRUE(row["ceiling"].is_object()) << row["ceiling_reason"];
  EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 3e12);  // not the 9e12 of arrays near the cache
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.5);
  EXPECT_EQ(row["ceiling"]["bound_by"], "memory");
}

TEST(CeilingDevice, WhereMemoryIsShortTheSmallerArraysCount) {
  json shorter = plain();
  for (json& row : shorter["rows"])
    if (row["problem"]["passes"] < 1) {
      row["status"] = "failed";
      row["reason"] = "no room";
      row["time_s"] = nullptr;
    }
  const json row = with_ceiling(row_of(1, 1, 1.5e12, "cold"), shorter);
  ASSERT_TRUE(row["ceiling"].is_object()) << row["ceiling_reason"];
  EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 9e12);
}

TEST(CeilingDevice, WhatItsCacheHoldsIsBoundByTheCache) {
  const json inside = with_ceiling(row_of(1e-5, 1, 3e7), plain())["ceiling"];
  EXPECT_EQ(inside["level"], "L2");
  EXPECT_DOUBLE_EQ(inside["bytes_per_s"], 6e12);
  EXPECT_DOUBLE_EQ(inside["fraction"], 3e7 / 6e12 / 1e-5);
  EXPECT_EQ(inside["exceeded"], false);  // by the bound of memory it would be: 3e7 / 3e12 = 1e-5
  // Beyond it, all comes through the cache, and what it cannot hold from memory.
  const json beyond = with_ceiling(row_of(1e-2, 1, 1e9 + l2), plain())["ceiling"];
  EXPECT_EQ(beyond["level"], "memory");
  EXPECT_DOUBLE_EQ(beyond["memory_bytes"], 1e9);
  const json little = with_ceiling(row_of(1e-2, 1, 1e6 + l2), plain())["ceiling"];
  EXPECT_EQ(little["level"], "L2");
  EXPECT_DOUBLE_EQ(little["memory_bytes"], 1e6 + l2);
  // More than a run of the probe reads goes through the cache at a rate that nobody has measured.
  json brief = plain();
  for (json& row : brief["rows"])
    if (row["problem"]["descriptor"] == "read_n1") {
      row["problem"]["bytes"] = 4e7;
      row["problem"]["passes"] = 4e7 / 2e6;
      row["time_s"]["min"] = 4e7 / 6e12;
    }
  EXPECT_DOUBLE_EQ(with_ceiling(row_of(1e-2, 1, l2), brief)["ceiling"]["memory_bytes"], 4e7);
  EXPECT_DOUBLE_EQ(with_ceiling(row_of(1e-2, 1, 3e7), brief)["ceiling"]["memory_bytes"], 3e7);
}

TEST(CeilingDevice, AThrottledProbeCallsNoRowImpossible) {
  const json row = row_of(0.1, 1, 1.5e12, "cold");
  ASSERT_EQ(with_ceiling(row, plain())["status"], "failed");
  json hot = plain();
  for (json& probe : hot["rows"])
    probe["device_state"] = {{"seconds", 1}, {"throttled_s", {{"power", 0.5}}}};
  const json made = with_ceiling(row, hot);
  EXPECT_EQ(made["status"], "ok") << made["reason"];
  EXPECT_EQ(made["ceiling"]["exceeded"], true);
}

TEST(CeilingDevice, NothingBoundsWhatWasNotMeasured) {
  const json hot = row_of(1, 8e14, 1e6);
  json lacks = plain();
  std::erase_if(lacks["rows"].get_ref<json::array_t&>(),
                [](const json& row) { return row["problem"]["descriptor"] == "read_n1"; });
  EXPECT_EQ(reason(hot, lacks), "no bandwidth of L2 (it was not measured)");
  // The cache is not known: then nobody knows what is hot.
  EXPECT_NE(reason(hot, plain(), environment(name, nullptr)).find("sizes of the caches"),
            std::string::npos);
  json other = hot;
  other["parameters"]["precision"] = "int8";
  EXPECT_EQ(reason(other, plain()), "no peak of int8 (it was not measured)");
}

TEST(CeilingDevice, NeitherTheProcessorsNorAnotherDevices) {
  const json row = row_of(1, 8e14, 1e6);
  const std::string expected = "no ceiling was measured by cuda on this gpu";
  EXPECT_NE(reason(row, plain(), environment("another GPU")).find(expected + " (another GPU)"),
            std::string::npos);
  EXPECT_NE(reason(row, plain(), environment(nullptr)).find(expected), std::string::npos);
  json other = row;
  other["parameters"]["backend"] = "hip";
  EXPECT_NE(reason(other, plain()).find("by hip on this gpu"), std::string::npos);
  json processor = plain();
  std::erase_if(processor["rows"].get_ref<json::array_t&>(),
                [](const json& object) { return object["parameters"]["device"] == "gpu"; });
  EXPECT_NE(reason(row, processor).find(expected), std::string::npos);
  // And the processor's rows get nothing of a GPU's.
  json own = row;
  own["parameters"]["device"] = "cpu";
  own["parameters"]["backend"] = "native";
  own["parameters"]["threads"] = 64;
  json device = plain();
  std::erase_if(device["rows"].get_ref<json::array_t&>(),
                [](const json& object) { return object["parameters"]["device"] == "cpu"; });
  EXPECT_NE(reason(own, device).find("with 64 threads"), std::string::npos);
}

TEST(CeilingDevice, WithoutOneEachRowSaysWhy) {
  json none = plain();
  for (json& row : none["rows"]) {
    row["status"] = "unsupported";
    row["reason"] = "cuda: unavailable: no GPU can be used";
    row["time_s"] = row["measured_on"] = nullptr;
  }
  EXPECT_EQ(reason(row_of(1, 8e14, 1e6), none),
            "no peak of fp16 (unsupported: cuda: unavailable: no GPU can be used)");
  EXPECT_EQ(reason(row_of(1, 0, 1e6, "cold"), none),
            "no bandwidth of memory (unsupported: cuda: unavailable: no GPU can be used)");
}

TEST(CeilingDevice, NeedsAreThePrecisionsOfEachDevice) {
  PlannedBenchmark conv{"conv", "", {}}, comm{"collectives", "", {}};
  Case benchmark_case;
  benchmark_case.settings = {
      {"precision", "tf32"}, {"threads", "16"}, {"backend", "cuda"}, {"device", "gpu"}};
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings["precision"] = "fp16";
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings.erase("backend");  // a transport has no arithmetic to ask for
  comm.cases.push_back(benchmark_case);
  const CeilingPlan plan = ceiling_plan({conv, comm}, environment()["hardware"]);
  const CeilingNeeds& needs = plan.at({});
  EXPECT_TRUE(needs.threads.empty());
  const std::map<CeilingPlace, std::set<std::string>> expected{{{"cuda", "gpu"}, {"fp16", "tf32"}}};
  EXPECT_EQ(needs.devices, expected);
  EXPECT_FALSE(needs.none());
  CeilingPlan both;
  add(both, plan);
  EXPECT_EQ(both.at({}).devices, expected);
  EXPECT_TRUE(CeilingNeeds{}.none());
}

TEST(CeilingDevice, TheTableSaysWhoseItIs) {
  json made = test::result({with_ceiling(row_of(2, 8e14, 1e6), plain())});
  made["environments"] = json::array({environment()});
  const std::string text = render_table({{"", made}}, {}, {});
  EXPECT_NE(text.find("fp16 on gpu 800 TFLOP/s; L2 on gpu 6.00 TB/s"), std::string::npos) << text;
}

TEST(CeilingDevice, ALibrarysPeakAloneJudgesNothingButItsMemoryDoes) {
  const json fast = with_ceiling(row_of(0.1, 8e14, 1e6), plain());
  EXPECT_EQ(fast["status"], "ok") << fast["reason"];
  EXPECT_EQ(fast["ceiling"]["exceeded"], true);
  const json row = with_ceiling(row_of(0.2, 1, 1.5e12, "cold"), plain());
  EXPECT_EQ(row["status"], "failed");
  EXPECT_NE(row["reason"].get<std::string>().find("memory"), std::string::npos) << row["reason"];
}

/// The GPU is another one than that of this test.
json judged_on(const std::string& gpu, json row) {
  json around = plain();
  for (json& probe : around["rows"])
    if (probe["parameters"]["device"] == "gpu") probe["measured_on"] = gpu;
  return with_ceiling(std::move(row), around, environment(gpu));
}

TEST(CeilingDevice, ALibrarysPeakJudgesTogetherWithTheDataSheets) {
  // 8e14 in fp16 were measured; the sheet of an H100 (SXM) has 9.895e14, that of an A100 3.12e14.
  const auto compute = [](double rate) { return row_of(1, rate, 1e6); };
  for (const char* gpu : {"NVIDIA H100 80GB HBM3", "NVIDIA H200"}) {
    EXPECT_EQ(judged_on(gpu, compute(1.9e15))["status"], "ok") << "twice the measured peak alone";
    const json row = judged_on(gpu, compute(2e15));
    EXPECT_EQ(row["status"], "failed");
    EXPECT_NE(row["reason"].get<std::string>().find("compute"), std::string::npos) << row["reason"];
  }
  EXPECT_EQ(judged_on("NVIDIA A100-SXM4-40GB", compute(1.5e15))["status"], "ok")
      << "twice the data sheet's alone";
  EXPECT_EQ(judged_on("NVIDIA A100-SXM4-40GB", compute(1.7e15))["status"], "failed");
  EXPECT_EQ(judged_on("NVIDIA of tomorrow", compute(1e17))["status"], "ok");
  // Its sheet has fp16, and nothing else of 16 bits.
  json bf16 = compute(1e17);
  bf16["parameters"]["precision"] = "bf16";
  EXPECT_EQ(judged_on("Tesla V100-SXM2-16GB", bf16)["status"], "ok");
  // Memory was measured at 3e12 B/s; the sheet of an H200 has 4.8e12.
  const json moved = row_of(1, 1, 9e12, "cold");
  EXPECT_EQ(judged_on("NVIDIA H200", moved)["status"], "ok");
  EXPECT_EQ(judged_on("NVIDIA H100 PCIe", moved)["status"], "failed");
}

}  // namespace test_ceiling_device
