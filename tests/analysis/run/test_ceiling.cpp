// The ceiling of a row: roofline of what was measured around it, and nothing where that does not
// bound it.
#include <gtest/gtest.h>

#include <regex>
#include "analysis/run/ceiling.hpp"
#include "analysis/run/ceiling_bracket.hpp"
#include "analysis/run/result_file.hpp"
#include "analysis/table/table.hpp"
#include "core/base/clock.hpp"
#include "core/result/layers.hpp"
#include "core/result/schema.hpp"
#include "rows.hpp"

namespace {

using namespace assay;
using nlohmann::json;

constexpr double cache = 32e6;

json environment() {
  return {{"host", "h"},
          {"hardware",
           {{"caches",
             {{{"level", 3}, {"type", "unified"}, {"bytes", cache}, {"count", 1}},
              {{"level", 1}, {"type", "data"}, {"bytes", 1000}, {"count", 2}}}}}},
          {"software", json::object()},
          {"volatile", json::object()},
          {"hashes", {{"hardware", "a"}, {"software", "b"}}}};
}

/// A row of assay-stream: `rate` in its best sample, much less in the others.
json stream(const std::string& descriptor, const std::string& precision, double rate,
            const std::string& status = "ok", int threads = 2) {
  const double work = 1e9;
  json row = {{"id", "stream/" + precision + "/" + descriptor},
              {"benchmark", "stream"},
              {"problem", {{"descriptor", descriptor}, {"flops", work}, {"bytes", work}}},
              {"parameters", {{"precision", precision}, {"threads", threads}}},
              {"executed", nullptr},
              {"status", status},
              {"reason", nullptr},
              {"verification", nullptr},
              {"rates", json::object()},
              {"time_s", {{"min", work / rate}, {"median", 2 * work / rate}}}};
  if (status != "ok") {
    row["time_s"] = nullptr;
    row["reason"] = "why it is " + status;
  }
  return row;
}

Bracket bracket(std::vector<json> rows) {
  return {
      {"started", "2026-01-01T00:00:00.000Z"}, {"seconds", 1}, {"reason", nullptr}, {"rows", rows}};
}

/// assay-stream's sum of a working set of so many bytes, many times over in a run.
json read(double bytes, double rate, const std::string& status = "ok") {
  json row = stream("read_n1", "fp64", rate, status);
  row["problem"]["passes"] = 1e9 / bytes;
  return row;
}

/// fp32 at 1e12 FLOP/s, memory at 1e10 B/s, caches (1000 bytes for each of two threads, and 32 MB)
/// at 4e11 and 1e11 B/s.
Bracket plain() {
  return bracket({stream("fma_n2", "fp32", 1e12), stream("triad_n9", "fp64", 1e10),
                  read(1000, 4e11), read(8000, 1e11)});
}

json row_of(double seconds, double flops, double bytes, Settings more = {}) {
  json row = test::row("ok", seconds, 0, std::move(more), 0, flops);
  row["problem"]["bytes"] = bytes;
  return row;
}

json with_ceiling(json row, const std::vector<Bracket>& brackets,
                  const std::vector<std::size_t>& around) {
  add_ceiling(row, brackets, around, environment(), "nothing was measured");
  return row;
}

TEST(Ceiling, BoundByCompute) {
  const json row = with_ceiling(row_of(2, 1e12, 1e6), {plain()}, {0});
  const json& ceiling = row["ceiling"];
  ASSERT_TRUE(ceiling.is_object()) << row["ceiling_reason"];
  EXPECT_DOUBLE_EQ(ceiling["flops_per_s"], 1e12);
  EXPECT_DOUBLE_EQ(ceiling["fraction"], 0.5);
  EXPECT_EQ(ceiling["bound_by"], "compute");
  EXPECT_EQ(ceiling["exceeded"], false);
  EXPECT_EQ(ceiling["level"], "L3");  // it fits the cache: no roof of memory
  EXPECT_DOUBLE_EQ(ceiling["bytes_per_s"], 1e11);
  EXPECT_DOUBLE_EQ(ceiling["memory_bytes"], 1e6 - 2000);  // L1 holds the rest
  EXPECT_TRUE(row["ceiling_reason"].is_null());
}

TEST(Ceiling, WhatFitsACacheIsBoundByIt) {
  const auto at = [](double bytes, double seconds) {
    return with_ceiling(row_of(seconds, 1, bytes), {plain()}, {0})["ceiling"];
  };
  const json far = at(1e7, 1e-3);
  EXPECT_EQ(far["bound_by"], "L3");
  EXPECT_DOUBLE_EQ(far["fraction"], (1e7 - 2000) / 1e11 / 1e-3);
  const json near = at(800, 1e-8);
  EXPECT_EQ(near["bound_by"], "L1");
  EXPECT_DOUBLE_EQ(near["fraction"], 800 / 4e11 / 1e-8);
  // A little more than L1 holds: that little at L3's rate takes shorter than all at L1's.
  const json between = at(2100, 1e-8);
  EXPECT_EQ(between["bound_by"], "L1");
  EXPECT_DOUBLE_EQ(between["fraction"], 2100 / 4e11 / 1e-8);
  // A little more than L3 holds: all but what L1 holds came from L3 at best.
  const json beyond = at(cache + 1e5, 1e-3);
  EXPECT_EQ(beyond["bound_by"], "L3");
  EXPECT_DOUBLE_EQ(beyond["memory_bytes"], cache + 1e5 - 2000);
}

TEST(Ceiling, BoundByMemoryForWhatTheCacheCannotHold) {
  const json row = with_ceiling(row_of(4, 1e10, 2e10 + cache), {plain()}, {0});
  EXPECT_DOUBLE_EQ(row["ceiling"]["memory_bytes"], 2e10);
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.5);
  EXPECT_EQ(row["ceiling"]["bound_by"], "memory");
  EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 1e10);
}

LayerTime layer_of(const std::string& name, double seconds, double flops, double bytes) {
  LayerTime layer;
  layer.layer = name;
  layer.direction = "forward";
  layer.operation = "conv";
  layer.problem = "mb1";
  layer.backend = "native";
  layer.executed.algorithm = name.starts_with("winograd") ? "winograd" : "direct";
  layer.seconds = seconds;
  layer.flops = flops;
  layer.bytes = bytes;
  return layer;
}

TEST(Ceiling, OfLayersEachByItsOwnWork) {
  json row = row_of(2, 1e12, 0);
  row["layers"] =
      layers_json({layer_of("conv", 1, 5e11, 1e6), layer_of("norm", 1, 0, 5e9 + cache),
                   layer_of("winograd", 1, 1e11, 1e6), layer_of("cached", 0.1, 0, 2e9 + cache)});
  const json made = with_ceiling(row, {plain()}, {0});
  ASSERT_TRUE(made["ceiling"].is_object()) << made["ceiling_reason"];
  const json& layers = made["layers"];
  ASSERT_EQ(layers.size(), 4);
  ASSERT_TRUE(layers[0]["ceiling"].is_object()) << layers[0];
  EXPECT_DOUBLE_EQ(layers[0]["ceiling"]["fraction"], 0.5);
  EXPECT_EQ(layers[0]["ceiling"]["bound_by"], "compute");
  EXPECT_FALSE(layers[0]["ceiling"].contains("brackets"));
  ASSERT_TRUE(layers[1]["ceiling"].is_object()) << layers[1];
  EXPECT_DOUBLE_EQ(layers[1]["ceiling"]["fraction"], 0.5);
  EXPECT_EQ(layers[1]["ceiling"]["bound_by"], "memory");
  // How many operations it did is not known; and what a cache held may be faster than memory.
  for (const std::size_t none : {2, 3}) {
    EXPECT_TRUE(layers[none]["ceiling"].is_null());
    EXPECT_TRUE(layers[none]["ceiling_reason"].is_string());
  }
  // Without the row's there are none.
  const json bare = with_ceiling(row, {}, {});
  EXPECT_TRUE(bare["layers"][0]["ceiling"].is_null());
}

TEST(Ceiling, ColdDataComeFromMemoryHoweverSmall) {
  const json row = with_ceiling(row_of(1e-2, 1e6, 1e7, {{"cache", "cold"}}), {plain()}, {0});
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.1);
  EXPECT_EQ(row["ceiling"]["bound_by"], "memory");
}

TEST(Ceiling, IsTheLargerOfBeforeAndAfter) {
  const Bracket slow = bracket({stream("fma_n2", "fp32", 5e11), stream("triad_n9", "fp64", 2e10)});
  for (const auto& brackets : {std::vector{plain(), slow}, std::vector{slow, plain()}}) {
    const json row = with_ceiling(row_of(10, 2e12, 5e10 + cache), brackets, {0, 1});
    EXPECT_EQ(row["ceiling"]["level"], "memory");
    EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 1e12);
    EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 2e10);
    EXPECT_EQ(row["ceiling"]["brackets"], json({0, 1}));
  }
  // Of both kinds of stores, too; and of none that is not around the row.
  const Bracket both = bracket({stream("triad_n9", "fp64", 1e10), stream("triad_n9", "fp64", 3e10),
                                stream("fma_n2", "fp32", 1e12), read(8000, 1e11)});
  const json row = with_ceiling(row_of(10, 2e12, 5e10 + cache), {slow, both}, {1});
  EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 3e10);
  EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 1e12);
}

TEST(Ceiling, FlagsWhatExceedsItByMoreThanThreePercentAndClipsNothing) {
  const auto at = [](double fraction) {
    return with_ceiling(row_of(1 / fraction, 1e12, 0), {plain()}, {0})["ceiling"];
  };
  EXPECT_EQ(at(1.029)["exceeded"], false);
  EXPECT_EQ(at(1.031)["exceeded"], true);
  EXPECT_EQ(at(1.99)["exceeded"], true);
  EXPECT_DOUBLE_EQ(at(1.99)["fraction"], 1.99);
}

TEST(Ceiling, TwiceAsFastIsImpossible) {
  for (const json& row : {row_of(0.5, 1e12, 0), row_of(1e-3, 1e9, 3e8), row_of(1e-9, 1, 1000)}) {
    const json made = with_ceiling(row, {plain()}, {0});
    EXPECT_EQ(made["status"], "failed") << made["ceiling"];
    EXPECT_TRUE(made["reason"].get<std::string>().starts_with("impossible: ")) << made["reason"];
    EXPECT_TRUE(made["time_s"].is_null());
    EXPECT_TRUE(made["samples_s"].empty());
    EXPECT_TRUE(made["rates"].empty());
    EXPECT_TRUE(made["ceiling"].is_null());
    const json file = test::result({made});
    EXPECT_EQ(exit_code(file["rows"]), ExitCode::failed);
    const auto errors = schema_errors(file, "result", "test");
    EXPECT_TRUE(errors.empty()) << errors[0];
  }
}

TEST(Ceiling, WhatIsKnownJudgesWhereTheRestIsNot) {
  // Operations of an unknown number, or without a peak: the data must still come from somewhere.
  json winograd = row_of(1e-3, 4e12, 3e8);
  winograd["executed"]["algorithm"] = "winograd";
  EXPECT_EQ(with_ceiling(winograd, {plain()}, {0})["status"], "failed");
  EXPECT_EQ(with_ceiling(row_of(1e-3, 1, 3e8, {{"precision", "int8"}}), {plain()}, {0})["status"],
            "failed");
  // No bandwidth, but a peak.
  const Bracket no_memory = bracket({stream("fma_n2", "fp32", 1e12)});
  EXPECT_EQ(with_ceiling(row_of(0.1, 1e12, 1e9), {no_memory}, {0})["status"], "failed");
}

TEST(Ceiling, ADisturbedCeilingJudgesNothing) {
  for (const char* reading : {"waiting", "stolen"}) {
    Bracket busy = plain();
    for (json& row : busy["rows"]) row["time_s"][reading] = 0.06;
    const json row = with_ceiling(row_of(0.1, 1e12, 0), {busy}, {0});
    EXPECT_EQ(row["status"], "ok") << row["reason"];
    EXPECT_EQ(row["ceiling"]["exceeded"], true);
    // One that was not, and allows as much, does.
    EXPECT_EQ(with_ceiling(row_of(0.1, 1e12, 0), {busy, plain()}, {1})["status"], "failed");
  }
}

TEST(Ceiling, AClockThatShowsNothingForLongWorkIsImpossible) {
  json row = row_of(1, 1e12, 0);
  row["time_s"]["median"] = 0;
  EXPECT_EQ(with_ceiling(row, {plain()}, {0})["status"], "failed");
  json tiny = row_of(1, 1e3, 0);
  tiny["time_s"]["median"] = 0;
  const json made = with_ceiling(tiny, {plain()}, {0});
  EXPECT_EQ(made["status"], "ok");
  EXPECT_EQ(made["ceiling_reason"], "the time is below the clock's resolution");
}

TEST(Ceiling, CountsTheOperationsThatWereDone) {
  json winograd = row_of(1, 4e12, 0);
  winograd["executed"]["algorithm"] = "winograd";
  EXPECT_NE(
      with_ceiling(winograd, {plain()}, {0})["ceiling_reason"].get<std::string>().find("winograd"),
      std::string::npos);
  winograd["executed"]["algorithmic_flops"] = 0.9e12;
  const json row = with_ceiling(winograd, {plain()}, {0});
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.9);
}

TEST(Ceiling, SixteenBitsComputedInFp32HaveThatPeak) {
  const Bracket lacks =
      bracket({stream("fma_n2", "bf16", 0, "unsupported"), stream("fma_n2", "fp32", 1e12)});
  json row = row_of(2, 1e12, 0, {{"precision", "bf16"}});
  row["executed"]["compute"] = "fp32";
  EXPECT_DOUBLE_EQ(with_ceiling(row, {lacks}, {0})["ceiling"]["fraction"], 0.5);
  row["executed"]["compute"] = "bf16";
  const json none = with_ceiling(row, {lacks}, {0});
  EXPECT_TRUE(none["ceiling"].is_null());
  EXPECT_NE(none["ceiling_reason"].get<std::string>().find("why it is unsupported"),
            std::string::npos);
  // The faster unit counts, even where a library did not use it.
  const Bracket has = bracket({stream("fma_n2", "bf16", 2e12), stream("fma_n2", "fp32", 1e12)});
  row["executed"]["compute"] = "fp32";
  EXPECT_DOUBLE_EQ(with_ceiling(row, {has}, {0})["ceiling"]["flops_per_s"], 2e12);
}

TEST(Ceiling, AMixedPrecisionHasThePeakOfItsInputs) {
  const Bracket has = bracket({stream("fma_n2", "bf16", 2e12), stream("fma_n2", "fp32", 1e12)});
  json row = row_of(2, 1e12, 0, {{"precision", "bf16_fp32"}});
  row["executed"]["compute"] = "bf16";
  EXPECT_DOUBLE_EQ(with_ceiling(row, {has}, {0})["ceiling"]["flops_per_s"], 2e12);
}

TEST(Ceiling, NullAndTheReason) {
  const auto reason = [](const json& row, const std::vector<Bracket>& brackets,
                         const std::vector<std::size_t>& around) {
    const json made = with_ceiling(row, brackets, around);
    EXPECT_TRUE(made["ceiling"].is_null());
    return made["ceiling_reason"].get<std::string>();
  };
  const json good = row_of(1, 1e12, 1e6);
  EXPECT_EQ(reason(good, {plain()}, {}), "nothing was measured");
  EXPECT_EQ(reason(test::row("failed", 1), {plain()}, {0}), "the row has no time");
  EXPECT_NE(reason(row_of(1, 1e12, 0, {{"threads", "7"}}), {plain()}, {0}).find("7 threads"),
            std::string::npos);
  const Bracket wrong = bracket({stream("fma_n2", "fp32", 1e12, "incorrect")});
  EXPECT_NE(reason(good, {wrong}, {0}).find("why it is incorrect"), std::string::npos);
  Bracket lost = bracket({});
  lost["reason"] = "ceilings could not be measured: no";
  EXPECT_EQ(reason(good, {lost}, {0}), "ceilings could not be measured: no");
  EXPECT_TRUE(with_ceiling(good, {lost, plain()}, {0, 1})["ceiling"].is_object());
  json ranks = good;
  ranks["parameters"]["ranks"] = 2;
  EXPECT_NE(reason(ranks, {plain()}, {0}).find("each of 2 ranks"), std::string::npos);
  json itself = good;
  itself["benchmark"] = "stream";
  EXPECT_NE(reason(itself, {plain()}, {0}).find("itself"), std::string::npos);
  const Bracket no_memory = bracket({stream("fma_n2", "fp32", 1e12)});
  EXPECT_NE(reason(row_of(1, 1e12, 1e9), {no_memory}, {0}).find("no bandwidth of L3"),
            std::string::npos);
  const Bracket no_cache =
      bracket({stream("fma_n2", "fp32", 1e12), read(1000, 4e11), read(8000, 0, "failed")});
  EXPECT_NE(reason(good, {no_cache}, {0}).find("why it is failed"), std::string::npos);
}

TEST(Ceiling, OfSeveralRanksIsWhatARankHasBesideTheOthers) {
  Bracket alone = plain(), together = plain();
  for (json& row : together["rows"]) {
    row["parameters"]["ranks"] = 2;
    row["time_s"]["min"] = 2 * row["time_s"]["min"].get<double>();
  }
  json ranks = row_of(2, 5e11, 0);
  ranks["parameters"]["ranks"] = 2;
  const json row = with_ceiling(ranks, {alone, together}, {0, 1});
  EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 5e11);
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.5);
}

TEST(Ceiling, RowsHaveTheBracketsOfTheirSession) {
  const auto row = [](const std::string& id, int launch = 0) {
    json made = row_of(2, 1e12, 0);
    made["id"] = id;
    made["launch"] = launch;
    return json{{"event", "row"}, {"row", made}};
  };
  const auto measured = [](double peak) {
    Bracket event = bracket({stream("fma_n2", "fp32", peak)});
    event["event"] = "bracket";
    return event;
  };
  json run = {{"event", "run"},       {"id", "r"},
              {"suite", "s"},         {"command", "c"},
              {"started", utc_now()}, {"environment", environment()}};
  json resume = run;
  resume["event"] = "resume";
  const json result = collect({run, measured(1e12), row("a"), row("b"), resume, measured(2e12),
                               row("c"), row("a"), measured(3e12), row("d", 1), measured(4e12)},
                              {});
  EXPECT_EQ(result["run"]["bracket"].size(), 4u);
  const std::map<std::string, json> expected{{"a", {0}}, {"b", {0}}, {"c", {1, 2}}, {"d", {2, 3}}};
  ASSERT_EQ(result["rows"].size(), 4u);
  for (const json& object : result["rows"])
    EXPECT_EQ(object["ceiling"]["brackets"], expected.at(object["id"])) << object["id"];
  EXPECT_TRUE(schema_errors(result, "result", "test").empty())
      << schema_errors(result, "result", "test")[0];
}

TEST(Ceiling, SwitchedOffIsSaid) {
  json made = row_of(2, 1e12, 1e6);
  const json run = {{"event", "run"},       {"id", "r"},
                    {"suite", "s"},         {"command", "c"},
                    {"started", utc_now()}, {"environment", environment()},
                    {"ceilings", false}};
  const json result = collect({run, {{"event", "row"}, {"row", made}}}, {});
  EXPECT_TRUE(result["rows"][0]["ceiling"].is_null());
  EXPECT_NE(result["rows"][0]["ceiling_reason"].get<std::string>().find("switched off"),
            std::string::npos);
}

TEST(Ceiling, TableMarksWhatExceeds) {
  const json slow = with_ceiling(row_of(2, 1e12, 0), {plain()}, {0}),
             fast = with_ceiling(row_of(0.625, 1e12, 0, {{"backend", "other"}}), {plain()}, {0});
  const std::string text = render_table({{"", test::result({slow, fast})}}, {}, {});
  EXPECT_NE(text.find("50 % compute "), std::string::npos) << text;
  EXPECT_NE(text.find("160 % compute^"), std::string::npos) << text;
  EXPECT_NE(text.find("\n^ Faster than the ceiling"), std::string::npos) << text;
  const std::string without = render_table({{"", test::result({test::row("ok", 1)})}}, {}, {});
  EXPECT_EQ(without.find("ceiling"), std::string::npos) << without;
}

TEST(Ceiling, NeedsArePrecisionsAndThreadsOfTheCases) {
  CeilingNeeds needs;
  PlannedBenchmark conv{"conv", "", {}}, own{"stream", "", {}};
  Case benchmark_case;
  benchmark_case.settings = {{"precision", "bf16"}, {"threads", "4"}};
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings["precision"] = "bf16_fp32";  // whose inputs are bf16
  conv.cases.push_back(benchmark_case);
  benchmark_case.settings = {{"precision", "fp64"}, {"threads", "8"}};
  own.cases.push_back(benchmark_case);
  needs.add({conv, own}, environment()["hardware"]);
  EXPECT_EQ(needs.precisions, std::set<std::string>{"bf16"});
  EXPECT_EQ(needs.threads, std::set<int>{4});
  EXPECT_TRUE(needs.data.empty());  // its bytes are not known
}

TEST(Ceiling, NeedsAreTheLevelsThatMayBoundACase) {
  using Data = std::set<std::pair<int, std::string>>;
  const auto needed = [](std::vector<double> bytes, const std::string& mode) {
    PlannedBenchmark conv{"conv", "", {}};
    Case benchmark_case;
    benchmark_case.settings = {{"precision", "fp32"}, {"threads", "2"}, {"cache", mode}};
    benchmark_case.working_sets = std::move(bytes);
    conv.cases.push_back(benchmark_case);
    CeilingNeeds needs;
    needs.add({conv}, environment()["hardware"]);
    return needs.data;
  };
  EXPECT_EQ(needed({100}, "hot"), (Data{{2, "read_n125"}}));  // half of 2 x 1000 bytes
  EXPECT_EQ(needed({1e6}, "hot"), (Data{{2, "read_n125"}, {2, "read_n1000"}}));
  EXPECT_EQ(needed({1e9}, "hot"), (Data{{2, "read_n1000"}, {2, "triad"}}));
  EXPECT_EQ(needed({100}, "cold"), (Data{{2, "triad"}}));
  // Of a network, whose operations have data of several sizes.
  EXPECT_EQ(needed({100, 1e9}, "hot"), (Data{{2, "read_n125"}, {2, "read_n1000"}, {2, "triad"}}));
}

TEST(Ceiling, TellsWhatWasMeasuredAndWhatIsPromised) {
  json made = test::result({with_ceiling(row_of(2, 1e12, 1e6), {plain()}, {0})});
  made["environments"] = json::array({environment()});
  const auto shown = [&] {  // notes are wrapped
    return std::regex_replace(render_table({{"", made}}, {}, {}), std::regex("\n  "), " ");
  };
  EXPECT_NE(shown().find("ceilings, measured: fp32 with 2 threads 1.00 TFLOP/s; L3 with 2 threads "
                         "100 GB/s; theoretical: unknown."),
            std::string::npos)
      << shown();
  json& peaks = made["environments"][0]["hardware"]["peaks"];
  peaks = {{"flops_per_s", {{"fp32", nullptr}}},
           {"bytes_per_s", nullptr},
           {"basis", nullptr},
           {"reasons", {{"flops_per_s", "no clock"}, {"bytes_per_s", "no channels"}}}};
  EXPECT_NE(shown().find("arithmetic unknown (no clock), memory unknown (no channels)."),
            std::string::npos)
      << shown();
  peaks["flops_per_s"]["fp32"] = 3e12;
  peaks["basis"] = "2 cores";
  EXPECT_NE(shown().find("arithmetic fp32 3.00 TFLOP/s (2 cores), memory unknown"),
            std::string::npos)
      << shown();
}

}  // namespace
