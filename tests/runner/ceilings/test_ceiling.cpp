// The ceiling of a row: roofline of what was measured around it, and nothing where that does not
// bound it.
#include <gtest/gtest.h>

#include "analysis/table/table.hpp"
#include "core/base/clock.hpp"
#include "core/result/layers.hpp"
#include "core/result/schema.hpp"
#include "runner/run/result_file.hpp"
#include "tests/patterns.hpp"
#include "tests/runner/ceilings/ceiling_rows.hpp"

namespace test_ceiling {

using namespace assay;
using namespace test::ceilings;

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
  layer.execution.algorithm = name.starts_with("winograd") ? "winograd" : "direct";
  layer.seconds = seconds;
  layer.flops = flops;
  layer.bytes = bytes;
  return layer;
}

TEST(Ceiling, OfLayersEachByItsOwnWork) {
  Row row = row_of(2, 1e12, 0);
  row.layers =
      make_layers({layer_of("conv", 1, 5e11, 1e6), layer_of("norm", 1, 0, 5e9 + cache),
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
  // The number of operations is not known; and data that a cache held may be faster than memory.
  for (const std::size_t none : {2, 3}) {
    EXPECT_TRUE(layers[none]["ceiling"].is_null());
    EXPECT_TRUE(layers[none]["ceiling_reason"].is_string());
  }
  // There are none without the row's.
  const json bare = with_ceiling(row, {}, {});
  EXPECT_TRUE(bare["layers"][0]["ceiling"].is_null());
}

TEST(Ceiling, ColdDataComeFromMemoryHoweverSmall) {
  const json row = with_ceiling(row_of(1e-2, 1e6, 1e7, {{"cache", "cold"}}), {plain()}, {0});
  EXPECT_DOUBLE_EQ(row["ceiling"]["fraction"], 0.1);
  EXPECT_EQ(row["ceiling"]["bound_by"], "memory");
}

TEST(Ceiling, IsTheLargerOfBeforeAndAfter) {
  const json slow = bracket({stream("fma_n2", "fp32", 5e11), stream("triad_n9", "fp64", 2e10)});
  for (const auto& brackets : {std::vector{plain(), slow}, std::vector{slow, plain()}}) {
    const json row = with_ceiling(row_of(10, 2e12, 5e10 + cache), brackets, {0, 1});
    EXPECT_EQ(row["ceiling"]["level"], "memory");
    EXPECT_DOUBLE_EQ(row["ceiling"]["flops_per_s"], 1e12);
    EXPECT_DOUBLE_EQ(row["ceiling"]["bytes_per_s"], 2e10);
    EXPECT_EQ(row["ceiling"]["brackets"], json({0, 1}));
  }
  // The ceiling is of both kinds of stores, too; and of none that is not around the row.
  const json both = bracket({stream("triad_n9", "fp64", 1e10), stream("triad_n9", "fp64", 3e10),
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
    const auto errors = find_schema_errors(file, "result", "test");
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
  const json no_memory = bracket({stream("fma_n2", "fp32", 1e12)});
  EXPECT_EQ(with_ceiling(row_of(0.1, 1e12, 1e9), {no_memory}, {0})["status"], "failed");
}

TEST(Ceiling, ADisturbedCeilingJudgesNothing) {
  for (const char* reading : {"waiting", "stolen"}) {
    json busy = plain();
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
  const json lacks =
      bracket({stream("fma_n2", "bf16", 0, "unsupported"), stream("fma_n2", "fp32", 1e12)});
  json row = row_of(2, 1e12, 0, {{"precision", "bf16"}});
  row["executed"]["compute"] = "fp32";
  const json fallen_back = with_ceiling(row, {lacks}, {0})["ceiling"];
  EXPECT_DOUBLE_EQ(fallen_back["fraction"], 0.5);
  EXPECT_EQ(fallen_back["flops_precision"], "fp32");
  row["executed"]["compute"] = "bf16";
  const json none = with_ceiling(row, {lacks}, {0});
  EXPECT_TRUE(none["ceiling"].is_null());
  EXPECT_NE(none["ceiling_reason"].get<std::string>().find("why it is unsupported"),
            std::string::npos);
  // The faster unit counts, even where a library did not use it.
  const json has = bracket({stream("fma_n2", "bf16", 2e12), stream("fma_n2", "fp32", 1e12)});
  row["executed"]["compute"] = "fp32";
  const json own = with_ceiling(row, {has}, {0})["ceiling"];
  EXPECT_DOUBLE_EQ(own["flops_per_s"], 2e12);
  EXPECT_FALSE(own.contains("flops_precision"));
}

TEST(Ceiling, AMixedPrecisionHasThePeakOfItsInputs) {
  const json has = bracket({stream("fma_n2", "bf16", 2e12), stream("fma_n2", "fp32", 1e12)});
  json row = row_of(2, 1e12, 0, {{"precision", "bf16_fp32"}});
  row["executed"]["compute"] = "bf16";
  const json ceiling = with_ceiling(row, {has}, {0})["ceiling"];
  EXPECT_DOUBLE_EQ(ceiling["flops_per_s"], 2e12);
  EXPECT_EQ(ceiling["flops_precision"], "bf16");
}

TEST(Ceiling, NullAndTheReason) {
  const auto reason = [](const json& row, const std::vector<json>& brackets,
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
  const json wrong = bracket({stream("fma_n2", "fp32", 1e12, "incorrect")});
  EXPECT_NE(reason(good, {wrong}, {0}).find("why it is incorrect"), std::string::npos);
  json lost = bracket({});
  lost["reason"] = "ceilings could not be measured: no";
  EXPECT_EQ(reason(good, {lost}, {0}), "ceilings could not be measured: no");
  EXPECT_TRUE(with_ceiling(good, {lost, plain()}, {0, 1})["ceiling"].is_object());
  json ranks = good;
  ranks["parameters"]["ranks"] = 2;
  ranks["problem"]["shared_by"] = 2;
  EXPECT_NE(reason(ranks, {plain()}, {0}).find("in each of 2 ranks on 1 node"), std::string::npos);
  json itself = good;
  itself["benchmark"] = "stream";
  EXPECT_NE(reason(itself, {plain()}, {0}).find("itself"), std::string::npos);
  const json no_memory = bracket({stream("fma_n2", "fp32", 1e12)});
  EXPECT_NE(reason(row_of(1, 1e12, 1e9), {no_memory}, {0}).find("no bandwidth of L3"),
            std::string::npos);
  const json no_cache =
      bracket({stream("fma_n2", "fp32", 1e12), read(1000, 4e11), read(8000, 0, "failed")});
  EXPECT_NE(reason(good, {no_cache}, {0}).find("why it is failed"), std::string::npos);
}

TEST(Ceiling, RowsHaveTheBracketsOfTheirSession) {
  const auto row = [](const std::string& id, int launch = 0) {
    json made = row_of(2, 1e12, 0);
    made["id"] = id;
    made["launch"] = launch;
    return json{{"event", "row"}, {"row", made}};
  };
  const auto measured = [](double peak) {
    json made = stream("fma_n2", "fp32", peak);
    const json whole = row_of(2, 1e12, 0);
    for (const char* field : {"executed", "verification"}) made[field] = whole[field];
    json time = whole["time_s"];
    time.update(made["time_s"]);
    made["time_s"] = time;
    json event = bracket({made});
    event["event"] = "bracket";
    return event;
  };
  json run = {{"event", "run"},
              {"id", "r"},
              {"suite", "s"},
              {"command", "c"},
              {"started", format_utc_now()},
              {"environment", environment()}};
  json resume = run;
  resume["event"] = "resume";
  const json result = make_run_result(
      make_record({run, measured(1e12), row("a"), row("b"), resume, measured(2e12), row("c"),
                   row("a"), measured(3e12), row("d", 1), measured(4e12)}),
      {});
  EXPECT_EQ(result["run"]["bracket"].size(), 4u);
  const std::map<std::string, json> expected{{"a", {0}}, {"b", {0}}, {"c", {1, 2}}, {"d", {2, 3}}};
  ASSERT_EQ(result["rows"].size(), 4u);
  for (const json& object : result["rows"])
    EXPECT_EQ(object["ceiling"]["brackets"], expected.at(object["id"])) << object["id"];
  EXPECT_TRUE(find_schema_errors(result, "result", "test").empty())
      << find_schema_errors(result, "result", "test")[0];
}

TEST(Ceiling, SwitchedOffIsSaid) {
  json made = row_of(2, 1e12, 1e6);
  const json run = {{"event", "run"},
                    {"id", "r"},
                    {"suite", "s"},
                    {"command", "c"},
                    {"started", format_utc_now()},
                    {"environment", environment()},
                    {"ceilings", false}};
  const json result = make_run_result(make_record({run, {{"event", "row"}, {"row", made}}}), {});
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

/// A processor without arithmetic of 16 bits: what was measured is the peak of fp32.
TEST(Ceiling, IsToldByThePrecisionThatWasMeasured) {
  const json lacks =
      bracket({stream("fma_n2", "fp16", 0, "unsupported"), stream("fma_n2", "fp32", 1e12)});
  json half = row_of(2, 1e12, 0, {{"precision", "fp16"}});
  half["executed"]["compute"] = "fp32";
  json made = test::result({with_ceiling(half, {lacks}, {0})});
  made["environments"] = json::array({environment()});
  const std::string text = render_table({{"", made}}, {}, {});
  EXPECT_NE(text.find("ceilings, measured: fp32 with 2 threads 1.00 TFLOP/s"), std::string::npos)
      << text;
}

TEST(Ceiling, TellsWhatWasMeasuredAndWhatIsPromised) {
  json made = test::result({with_ceiling(row_of(2, 1e12, 1e6), {plain()}, {0})});
  made["environments"] = json::array({environment()});
  const auto shown = [&] {  // notes are wrapped
    return replaced(render_table({{"", made}}, {}, {}), "\n  ", " ");
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

}  // namespace test_ceiling
