// The reader knows at which value each axis of the shipped benchmarks is left out of ids.
#include "core/result/row_identity.hpp"

#include <gtest/gtest.h>

#include "comm/collectives_benchmark.hpp"
#include "core/measure/case.hpp"
#include "kernels/conv/benchmark.hpp"
#include "kernels/stream/benchmark.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace {

using nlohmann::json;

void expect_axes_are_known(const Benchmark& benchmark) {
  const std::string name = benchmark.name();
  Settings settings;
  for (const Dimension& axis : benchmark.dimensions())
    settings[axis.name] = !axis.omit.empty() ? axis.omit : axis.name == "problem" ? "p" : "2";
  json row = {{"id", make_id(name, benchmark.dimensions(), settings)},
              {"benchmark", name},
              {"problem", {{"descriptor", "p"}}},
              {"parameters", settings}};
  row["parameters"].erase("problem");
  const auto said = [&] {
    return fixture::message_of([&] { check_identity(row, "x at /rows/0"); });
  };
  ASSERT_EQ(said(), "accepted");
  for (const Dimension& axis : benchmark.dimensions()) {
    if (axis.name == "problem") continue;
    json& value = row["parameters"][axis.name];
    const json before = value;
    value = "another";
    EXPECT_SAYS(said(), "/parameters/" + axis.name + ": found \"another\"");
    value = before;
  }
}

TEST(RowIdentity, KnowsTheAxesOfTheShippedBenchmarks) {
  expect_axes_are_known(conv_benchmark());
  expect_axes_are_known(stream_benchmark());
  expect_axes_are_known(CollectivesBenchmark());
}

TEST(RowIdentity, JudgesNoAxisOfABenchmarkOfOnesOwn) {
  const json row = {{"id", "mine/p/fast"},
                    {"benchmark", "mine"},
                    {"problem", {{"descriptor", "p"}}},
                    {"parameters", {{"speed", "fast"}, {"op", "max"}, {"numa", 3}}}};
  EXPECT_EQ(fixture::message_of([&] { check_identity(row, ""); }), "accepted");
}

TEST(RowIdentity, ValuesMayHoldSlashes) {
  const json row = {{"id", "collectives/allreduce/fp32/mpi/ring/4/r2/n1/replay=list/name"},
                    {"benchmark", "collectives"},
                    {"problem", {{"descriptor", "4"}}},
                    {"parameters", {{"replay", "list/name"}, {"collective", "allreduce"}}}};
  EXPECT_EQ(fixture::message_of([&] { check_identity(row, ""); }), "accepted");
}

}  // namespace
}  // namespace assay
