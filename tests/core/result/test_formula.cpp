// The formulas that readers have of their own. tests/scripts/test_formulas.py has rows of the
// programs.
#include "core/result/formula.hpp"

#include <gtest/gtest.h>

#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_formula {

using fixture::good_outcome;
using nlohmann::json;

std::string refusal(const json& document) {
  const fixture::Folder folder;
  write_json(folder.path() / "result.json", document);
  return fixture::message_of([&] { read_result(folder.path() / "result.json"); });
}

void check_own(const formula::Claims& claims) {
  claims.expect("/problem/bytes", claims.number("/parameters/blocks").value_or(0) * 512, "blocks");
}
const formula::BenchmarkFormula of_own("benchmark_of_a_test", check_own);

TEST(Formula, ABenchmarkBringsItsOwnOrIsNotChecked) {
  json row = fixture::row(good_outcome());
  row["problem"]["bytes"] = 1024;
  row["parameters"]["blocks"] = "2";
  const auto set_benchmark = [&](const std::string& name) {
    row["benchmark"] = name;
    row["id"] = name + "/a";
    std::string form = name + "/a";  // which leaves out all parameters
    for (const auto& [parameter, value] : row["parameters"].items()) form += "[/" + parameter + "]";
    row["id_form"] = form;
  };
  set_benchmark("without_a_formula");
  ASSERT_EQ(refusal(fixture::result({row})), "accepted");
  set_benchmark("benchmark_of_a_test");
  ASSERT_EQ(refusal(fixture::result({row})), "accepted");
  row["problem"]["bytes"] = 1025;
  EXPECT_SAYS(refusal(fixture::result({row})),
              "/rows/0/problem/bytes: found 1025, expected 1024.0 (blocks). Do not use this row.");
  row["problem"].erase("bytes");  // as of an older version
  EXPECT_EQ(refusal(fixture::result({row})), "accepted");
}

TEST(Formula, ProblemsWithoutExtentsAreNotRecomputed) {
  json row = fixture::row(good_outcome());
  row["problem"]["flops"] = 1e9;
  row["rates"] = json::object();
  ASSERT_EQ(refusal(fixture::result({row})), "accepted");
  row["problem"]["oc"] = 128;
  EXPECT_SAYS(refusal(fixture::result({row})),
              "/rows/0/problem/flops: found 1000000000.0, expected 29595009024.0 (of the "
              "descriptor mb16ic64ih112oc128oh112kh3ph1");
}

/// Extents that the descriptor does not spell out follow from it, whatever became of the row.
TEST(Formula, DerivedExtentsAreCheckedInEveryRow) {
  Outcome failed;
  failed.status = "failed";
  failed.reason = "no memory";
  for (const Outcome& outcome : {good_outcome(), failed}) {
    json row = fixture::row(outcome);
    row["problem"].update({{"iw", 112}, {"ow", 112}, {"kw", 3}, {"sh", 1}, {"pw_r", 1}});
    ASSERT_EQ(refusal(fixture::result({row})), "accepted");
    for (const char* name : {"iw", "ow", "kw", "sh", "pw_r"})
      for (const json& other : {json(7), json("many"), json(json::array({3}))}) {
        json spoilt = row;
        spoilt["problem"][name] = other;
        EXPECT_SAYS(refusal(fixture::result({spoilt})), std::string("/rows/0/problem/") + name);
      }
  }
}

TEST(Formula, WindowsHavePaddingStridesAndGroups) {
  const auto amounts = [](const std::string& descriptor, const std::string& direction,
                          const std::string& precision) {
    return formula::compute_amounts(
        {"conv", descriptor, {{"direction", direction}, {"precision", precision}}});
  };
  // Counted by hand: windows of 3 at distances of 2, from -2, of 9 and of 7 inputs.
  const formula::Fields of = amounts("g2mb2ic8ih9iw7oc4kh3kw3sh2sw2dh1dw1ph2", "forward", "fp32");
  EXPECT_EQ(of.at("oh"), 5);
  EXPECT_EQ(of.at("ph_r"), 2);
  EXPECT_EQ(of.at("ow"), 2);
  EXPECT_EQ(of.at("flops"), 2 * 2 * 4 * (5 * 2) * 4 * 9);
  EXPECT_EQ(of.at("bytes"), 4 * (2 * 8 * 63 + 4 * 4 * 9 + 2 * 4 * 10));
  EXPECT_EQ(amounts("mb1ic1ih4oc1oh2kh2sh2", "bwd_weights", "bf16_fp32").at("bytes"),
            2 * (16 + 4) + 4 * 4);
  EXPECT_TRUE(amounts("mb1 ic1", "forward", "fp32").empty());
  EXPECT_TRUE(amounts("mb1ic1ih4oc1oh2kh2sh2", "forward", "fp12").empty());
}

TEST(Formula, FieldsOfDescriptors) {
  const formula::Fields all = formula::parse_fields("m32_n16alpha1e-05beta0.5ta");
  EXPECT_EQ(all,
            (formula::Fields{{"m", 32}, {"n", 16}, {"alpha", 1e-5}, {"beta", 0.5}, {"ta", 1}}));
  EXPECT_TRUE(formula::parse_fields("m1m2").empty());
  EXPECT_TRUE(formula::parse_fields("m1:2").empty());
}

TEST(Formula, APeakIsClockTimesLanesTimesUnits) {
  struct Core {
    const char *precision, *instructions;
    int bits;
    double cycle;  ///< operations, by the makers' guides
  };
  for (const Core& core :
       {Core{"fp32", "AVX3", 512, 64},       // Sapphire Rapids, Zen 5
        Core{"fp64", "AVX3", 512, 32},       //
        Core{"fp32", "AVX2", 256, 32},       // Haswell, Zen 2
        Core{"fp32", "NEON", 128, 32},       // Neoverse V2
        Core{"fp64", "SVE_256", 256, 16},    // Neoverse V1
        Core{"fp16", "SVE_FMAD", 512, 128},  // A64FX
        Core{"bf16", "AVX512_BF16", 512, 128}, Core{"int8", "AVX512_VNNI", 512, 256},
        Core{"bf16", "AMX_BF16", 512, 1024},  // Sapphire Rapids
        Core{"int8", "AMX_INT8", 512, 2048}, Core{"bf16", "NEON_BFMMLA", 128, 128},
        Core{"int8", "SVE_SMMLA", 128, 256}}) {
    json row = {{"benchmark", "stream"},
                {"problem", {{"descriptor", "fma"}}},
                {"parameters", {{"precision", core.precision}}},
                {"executed",
                 {{"implementation", core.instructions},
                  {"vector_bits", core.bits},
                  {"clock_hz", 3e9},
                  {"threads", 2}}}};
    const auto refused = [&](double part) {
      row["rates"] = {{"flops_per_s", part * 2 * core.cycle * 3e9}};
      return fixture::message_of([&] { formula::check_formulas(row, "row"); });
    };
    EXPECT_EQ(refused(1.1), "accepted") << core.instructions;
    EXPECT_SAYS(refused(1.2), "row/rates/flops_per_s: found ");
    EXPECT_SAYS(refused(1.2), "at most 1.15 x ");
    row["executed"].erase("clock_hz");
    EXPECT_EQ(refused(9), "accepted");
  }
}

TEST(Formula, NoRankIsSlowerThanTheSlowest) {
  json row = fixture::row(good_outcome());
  row["parameters"]["ranks"] = 2;
  row["id"] = row["id"].get<std::string>() + "/r2";
  row["id_form"] = row["id_form"].get<std::string>() + "/r{ranks}";
  row["time_s"].update({{"rank_medians_s", {0.16, 0.161}}, {"barrier_skew_s", 0}});
  json document = fixture::result({row});
  for (const int statistics : {1, 7}) {  // another version may have other estimators
    document["run"]["statistics"] = statistics;
    document["rows"][0] = row;
    ASSERT_EQ(refusal(document), "accepted");
    document["rows"][0]["time_s"]["rank_medians_s"][1] = 0.162;
    EXPECT_SAYS(refusal(document),
                "/rows/0/time_s/rank_medians_s: found 0.162, expected at most the median 0.161.");
    document["rows"][0]["time_s"]["rank_medians_s"] = {0.161};
    EXPECT_SAYS(refusal(document), "/rows/0/time_s/rank_medians_s: found 1 medians, expected 2");
  }
}

}  // namespace test_formula
}  // namespace assay
