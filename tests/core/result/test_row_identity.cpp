// The reader makes an id anew of the form that its row tells, and knows no benchmark.
#include "core/result/row_identity.hpp"

#include <gtest/gtest.h>

#include "comm/collectives_benchmark.hpp"
#include "kernels/conv/benchmark.hpp"
#include "kernels/stream/benchmark.hpp"
#include "parameters_judged.hpp"

namespace assay {
namespace test_row_identity {

using fixture::identity_of;
using nlohmann::json;

json row_of_mine(const std::string& id, const json& parameters) {
  return {{"id", id},
          {"benchmark", "mine"},
          {"problem", {{"descriptor", "p"}}},
          {"parameters", parameters}};
}

TEST(RowIdentity, ParametersOfTheShippedBenchmarks) {
  fixture::expect_parameters_judged(conv_benchmark());
  fixture::expect_parameters_judged(stream_benchmark());
  fixture::expect_parameters_judged(CollectivesBenchmark());
}

TEST(RowIdentity, WhatDescribesTheSystemMustBeAParameter) {
  json row = row_of_mine("mine/p/fast", {{"speed", "fast"}});
  row["id_form"] = "mine/{problem}/{speed}";
  row["system_parameters"] = {"speed"};
  EXPECT_EQ(identity_of(row), "accepted");
  row["system_parameters"] = {"speed", "size"};
  EXPECT_SAYS(identity_of(row), "/system_parameters: found \"size\"");
}

/// The same names as those that core assumes for published rows.
TEST(RowIdentity, BenchmarksDeclareWhatDescribesTheSystem) {
  Plugins plugins;
  EXPECT_EQ(expand(CollectivesBenchmark(), {}, plugins).at(0).system_parameters,
            (std::vector<std::string>{"algorithm", "allocator", "device", "transport"}));
  EXPECT_EQ(
      expand(stream_benchmark(), {}, plugins).at(0).system_parameters,
      (std::vector<std::string>{"algorithm", "allocator", "backend", "device", "smt", "threads"}));
}

TEST(RowIdentity, ANamedValueIsTheWholeOfIt) {
  json row = row_of_mine("mine/p/scale=1/16", {{"scale", "1/16"}});
  row["id_form"] = "mine/{problem}[/scale=none]";
  EXPECT_EQ(identity_of(row), "accepted");
  row["parameters"]["scale"] = 1;
  EXPECT_SAYS(identity_of(row), "/parameters/scale: found 1");
}

TEST(RowIdentity, RowsOfOneIdMayDifferInThePartsOfTheSystemThatItLeavesOut) {
  json row = row_of_mine("mine/p", {{"file", "a"}, {"speed", "fast"}}), other = row;
  row["id_form"] = other["id_form"] = "mine/{problem}[/speed][/file]";
  other["parameters"]["file"] = "b";
  EXPECT_THROW(check_equal_parameters(other, row, "row"), InputError);
  other["system_parameters"] = {"file"};
  EXPECT_NO_THROW(check_equal_parameters(other, row, "row"));
  other["parameters"]["speed"] = "slow";
  EXPECT_THROW(check_equal_parameters(other, row, "row"), InputError);
}

TEST(RowIdentity, RanksThatNoIdNamesEachHadAProblemOfTheirOwn) {
  json row = row_of_mine("mine/p/t1", {{"threads", 1}, {"ranks", 2}});
  row["id_form"] = "mine/{problem}/t{threads}";
  EXPECT_SAYS(identity_of(row), "/parameters/ranks: found 2, expected 1");
  row["problem"]["shared_by"] = 2;
  EXPECT_SAYS(identity_of(row), "/parameters/ranks: found 2, expected 1");
  row["problem"]["shared_by"] = 1;
  EXPECT_EQ(identity_of(row), "accepted");
}

TEST(RowIdentity, AnOperationOfTheProblemHasOneOfItsOwn) {
  json row = row_of_mine("mine/n9d2/part=sort", {{"part", "sort"}, {"problem", "n9d2"}});
  row["id_form"] = "mine/{problem}[/part=whole]";
  row["problem"]["descriptor"] = "sort:n5";
  EXPECT_EQ(identity_of(row), "accepted");
  row["parameters"]["problem"] = "n8d2";
  EXPECT_SAYS(identity_of(row), "/parameters/problem: found \"n8d2\"");
  row["parameters"].erase("problem");
  EXPECT_SAYS(identity_of(row), "/problem/descriptor: found \"sort:n5\"");
  row["parameters"]["problem"] = "n9d2";
  row["problem"]["descriptor"] = "merge:n5";
  EXPECT_SAYS(identity_of(row), "/problem/descriptor: found \"merge:n5\"");
  // A problem that no parameter names an operation of is that of the id, whatever else is said.
  row = row_of_mine("mine/n9d2/part=sort", {{"part", "sort"}, {"problem", "n9d2"}});
  row["id_form"] = "mine/{problem}[/part=whole]";
  row["problem"]["descriptor"] = "n5";
  EXPECT_SAYS(identity_of(row), "/problem/descriptor: found \"n5\"");
}

TEST(RowIdentity, ValuesMayHoldSlashes) {
  const json row = {{"id_form",
                     "collectives/{collective}/{precision}/{transport}/{algorithm}/{problem}"
                     "/r{ranks}/n{nodes}[/replay=none]"},
                    {"id", "collectives/allreduce/fp32/mpi/ring/4/r2/n1/replay=list/name"},
                    {"benchmark", "collectives"},
                    {"problem", {{"descriptor", "4"}}},
                    {"parameters",
                     {{"replay", "list/name"},
                      {"collective", "allreduce"},
                      {"precision", "fp32"},
                      {"transport", "mpi"},
                      {"algorithm", "ring"},
                      {"ranks", 2},
                      {"nodes", 1}}}};
  EXPECT_EQ(identity_of(row), "accepted");
}

}  // namespace test_row_identity
}  // namespace assay
