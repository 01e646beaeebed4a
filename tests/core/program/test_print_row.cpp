// A printed row has units that people read, each rate of the row by its name, and its marks are
// explained once.
#include "core/program/print_row.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/result/result.hpp"
#include "result_fixture.hpp"

namespace test_print_row {

using namespace assay;
using nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

json row(double seconds, json rates) {
  Outcome outcome = fixture::good_outcome();
  for (double& sample : outcome.timing->samples) sample = seconds;
  json made = make_row("conv", fixture::one_case(), nullptr, outcome, 0, 0, 0, 1, 1);
  made["rates"] = std::move(rates);
  return made;
}

TEST(PrintRow, ShortTimesHaveTheirUnit) {
  json made = row(8e-7, {{"flops_per_s", 1.134e11}});
  made["time_s"]["ci95"] = {7.9e-7, 8.15e-7};
  const std::string text = format_row(made);
  EXPECT_TRUE(has(text, "    800 ns  [790 .. 815 ns] (n=12)  113 GFLOP/s  jit:avx2\n")) << text;
  made["time_s"]["ci95"] = {7.9e-7, 1.5e-6};
  EXPECT_TRUE(has(format_row(made), "[790 ns .. 1.50 \u00b5s]")) << format_row(made);
  made["time_s"]["ci95"] = nullptr;
  EXPECT_TRUE(has(format_row(made), "no interval (n=12)")) << format_row(made);
}

TEST(PrintRow, StepsOfTheSetUpHaveTheirUnit) {
  json made = row(8e-7, json::object());
  made["setup_s"] = {{"create", 1.2e-5}, {"plan", 2.5}, {"workspace", nullptr}};
  const std::string text = row_details(made);
  EXPECT_TRUE(text.ends_with("; create 12.0 \u00b5s; plan 2.50 s")) << text;
}

TEST(PrintRow, WrongElementsAreCounted) {
  json made = row(1e-3, {{"busbw", 1e9}});
  made["time_s"].update({{"rank_medians_s", {1e-3, 1e-3}},
                         {"slowest_rank", 1},
                         {"slowest_host", "a"},
                         {"barrier_skew_s", 1e-6}});
  EXPECT_TRUE(has(format_row(made), "ranks begin within 1.00 \u00b5s; 0 wrong elements\n"))
      << format_row(made);
  Outcome outcome = fixture::good_outcome();
  outcome.status = "incorrect";
  outcome.verification->passed = false;
  outcome.verification->reason = "an output is beyond its bound";
  outcome.verification->wrong_elements = 12;
  const auto text = [&] {
    return format_row(make_row("conv", fixture::one_case(), nullptr, outcome, 0, 0, 0, 1, 1));
  };
  EXPECT_TRUE(has(text(), "an output is beyond its bound\n    12 wrong elements\n")) << text();
  // The training computed right results: a count of wrong elements would say the opposite.
  outcome.status = "target missed";
  outcome.verification->passed = true;
  outcome.verification->wrong_elements = 0;
  EXPECT_FALSE(has(text(), "wrong")) << text();
}

TEST(PrintRow, TheLabelOfABenchmarkStandsBehindTheRates) {
  const std::string text = format_row(row(1e-3, {{"flops_per_s", 1e9}}), false, "throughput only");
  EXPECT_TRUE(has(text, "1.00 GFLOP/s  throughput only  jit:avx2\n")) << text;
}

TEST(PrintRow, MetricsHaveALineOfTheirOwn) {
  json made = row(1e-3, {{"bytes_per_s", 1e9}});
  made["metrics"] = {{"inertia", {{"value", 12345678.9}, {"unit", ""}, {"better", "lower"}}},
                     {"mean", {{"value", 2.5}, {"unit", "J"}, {"better", nullptr}}},
                     {"peak_bytes", {{"value", 9802752}, {"unit", "B"}, {"better", "lower"}}},
                     {"update_s", {{"value", 0.000133475}, {"unit", "s"}, {"better", "lower"}}}};
  const std::string text = format_row(made);
  EXPECT_TRUE(has(text,
                  "\n    inertia 1.23457e+07  mean 2.5 J  peak_bytes 9.80 MB  update_s 133 "
                  "\u00b5s\n"))
      << text;
}

TEST(PrintRow, EveryBaselineHasALine) {
  json made = row(1e-3, {{"images_per_s", 8}});
  json other{{"system", "fugaku"}, {"value", 98.7},     {"unit", "images_per_s"},
             {"speedup", 0.081},   {"published", true}, {"remark", "batch 64"}};
  made["baseline"] = other;
  other["system"] = "v100";
  made["further_baselines"] = json::array({other});
  const std::string text = format_row(made);
  for (const std::string system : {"fugaku", "v100"})
    EXPECT_TRUE(
        has(text, "\n    " + system + ": 98.7 images/s (published), speedup 0.081; batch 64\n"))
        << text;
}

TEST(PrintRow, WhatAReaderMustKnow) {
  json made = row(1e-3, {{"figure_of_merit", 1.24e9}});
  EXPECT_TRUE(has(format_row(made), "figure_of_merit 0.00124 TB/s")) << format_row(made);
  EXPECT_FALSE(has(format_row(made), "note") || has(format_row(made), "no ratio"))
      << format_row(made);
  made["note"] = "all rows are distinct";
  made["baseline_reason"] = "titan: another size";
  EXPECT_TRUE(
      has(format_row(made), "\n    note: all rows are distinct\n    no ratio: titan: another"))
      << format_row(made);
  made["baseline"] = {{"system", "titan"},         {"value", 6e12},
                      {"unit", "figure_of_merit"}, {"speedup", 2.07e-4},
                      {"published", true},         {"citation", "c"},
                      {"projection", true},        {"not_given", {"data", "precision"}}};
  EXPECT_TRUE(has(format_row(made),
                  "titan: 6 TB/s (published, a projection), speedup 0.000207? (not "
                  "given there: data, precision)"))
      << format_row(made);
}

TEST(PrintRow, EachRateHasItsNameAndUnit) {
  const std::string text =
      format_row(row(1e-3, {{"algbw", 3.1e9}, {"busbw", 4.65e9}, {"flops_per_s", 0.0}}));
  EXPECT_TRUE(has(text, "  algbw 3.10 GB/s  busbw 4.65 GB/s  ")) << text;
  EXPECT_FALSE(has(text, "FLOP/s")) << text;
  // A rate of a benchmark that core does not know.
  EXPECT_TRUE(has(format_row(row(1e-3, {{"images_per_s", 2470.5}})), "  2470 images/s  "));
  EXPECT_TRUE(has(format_row(row(1e-3, {{"algorithmic_flops_per_s", 1e9}, {"flops_per_s", 2e9}})),
                  "  algorithmic 1.00 GFLOP/s  2.00 GFLOP/s  "));
  EXPECT_FALSE(has(format_row(row(1e-3, {{"algorithmic_flops_per_s", 2e9}, {"flops_per_s", 2e9}})),
                   "algorithmic"));
}

TEST(PrintRow, MarksStandAtEachNumberAndAreExplainedOnce) {
  json quiet = row(1e-3, {{"flops_per_s", 1e9}}), shared = quiet, oversubscribed = quiet;
  EXPECT_EQ(describe_marks({quiet, quiet}), "");
  EXPECT_FALSE(has(format_row(quiet), "!"));
  shared["time_s"]["stolen"] = 0.5;
  EXPECT_TRUE(has(format_row(shared), "1.00 ms!")) << format_row(shared);
  EXPECT_TRUE(has(format_row(shared), "1.00 GFLOP/s!")) << format_row(shared);
  EXPECT_FALSE(has(format_row(shared), "quiet machine")) << format_row(shared);
  EXPECT_EQ(describe_marks({shared, quiet, shared}), std::string(shared_note) + "\n");
  oversubscribed["time_s"]["waiting"] = 0.5;
  oversubscribed["time_s"]["foreign"] = 0.0;
  EXPECT_TRUE(has(format_row(oversubscribed), "1.00 ms~")) << format_row(oversubscribed);
  EXPECT_EQ(describe_marks({oversubscribed, shared}),
            std::string(shared_note) + "\n" + oversubscribed_note + "\n");
  json throttled = quiet;
  throttled["device_state"] = {{"seconds", 1}, {"throttled_s", {{"heat", 0.5}}}};
  EXPECT_TRUE(has(format_row(throttled), "1.00 GFLOP/s\u00b0")) << format_row(throttled);
  EXPECT_EQ(describe_marks({throttled, quiet}), std::string(throttled_note) + "\n");
  shared["baseline"] = {{"system", "x"},     {"value", 5e-4},   {"unit", "s"},     {"speedup", 0.5},
                        {"published", true}, {"citation", "c"}, {"algorithm", "a"}};
  EXPECT_TRUE(has(format_row(shared), "\n    x: 500 \u00b5s (published), speedup 0.5!\n"))
      << format_row(shared);
}

TEST(PrintRow, ARowThatIsNotOkHasItsReasonAndNoNumber) {
  Outcome outcome;
  outcome.status = "unsupported";
  outcome.reason = "no such primitive";
  const std::string text =
      format_row(make_row("conv", fixture::one_case(), nullptr, outcome, 0, 0, 0, 1, 1));
  EXPECT_TRUE(text.ends_with("\n    unsupported: no such primitive\n")) << text;
}

}  // namespace test_print_row
