// The shipped lists of matrix multiplications and the suites made of them, against the lists as
// their source has them (tests/golden/problems/gemm.csv: extents, not descriptors).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "assay/test_paths.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"
#include "kernels/gemm/benchmark.hpp"
#include "kernels/gemm/problem.hpp"

namespace assay {
namespace test_gemm_lists {

using nlohmann::json;

const std::map<std::string, std::size_t> counts{
    {"deepbench-train", 160}, {"deepbench-server", 75}, {"deepbench-device", 13}};

TEST(GemmLists, AreThoseOfTheirSourceInItsOrder) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/problems/gemm.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  std::map<std::string, json> lists;
  std::map<std::string, std::size_t> lines;
  std::map<std::string, std::set<std::string>> descriptors;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, ',');
    const std::string& list = cells.at(0);
    if (!lists.contains(list))
      lists[list] =
          read_checked(data_folder("suites") / "problems" / "gemm" / (list + ".json"), "problems");
    const json& problem = lists[list]["problems"].at(lines[list]++);
    EXPECT_EQ(problem["name"], cells.at(1));
    const std::string descriptor = problem["descriptor"];
    const GemmShape s = parse_gemm(descriptor);
    EXPECT_EQ(to_descriptor(s), descriptor);
    EXPECT_TRUE(descriptors[list].insert(descriptor).second) << descriptor;
    EXPECT_EQ(std::to_string(s.m), cells.at(2)) << line;
    EXPECT_EQ(std::to_string(s.n), cells.at(3)) << line;
    EXPECT_EQ(std::to_string(s.k), cells.at(4)) << line;
    EXPECT_EQ(s.ta, cells.at(5) == "1") << line;
    EXPECT_EQ(s.tb, cells.at(6) == "1") << line;
    EXPECT_EQ(s.alpha, 1) << line;
    EXPECT_EQ(s.beta, 1) << line;
    EXPECT_EQ(s.batch, 1) << line;
  }
  EXPECT_EQ(lines, counts);
  for (const auto& [name, list] : lists) EXPECT_EQ(list["problems"].size(), counts.at(name));
}

TEST(GemmSuites, HaveEveryProblemOfTheirList) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  for (const auto& [suite, count] : counts) {
    std::map<std::pair<std::string, std::string>, std::size_t> cases;
    for (const Case& selected :
         expand_suite(gemm_benchmark(), read_suite(find_suite(suite)), suite, plugins))
      ++cases[{selected.settings.at("backend"), selected.settings.at("precision")}];
    const std::string narrow = suite == "deepbench-train" ? "fp16" : "int8";
    EXPECT_EQ(cases, (std::map<std::pair<std::string, std::string>, std::size_t>{
                         {{"blas", "fp32"}, count},
                         {{"onednn", "bf16"}, count},
                         {{"onednn", narrow}, count},
                         {{"onednn", "fp32"}, count}}))
        << suite;
  }
  EXPECT_FALSE(
      expand_suite(gemm_benchmark(), read_suite(find_suite("smoke")), "smoke", plugins).empty());
}

TEST(GemmLists, FactorsMayBeOverridden) {
  const NamedProblem listed = find_problems(gemm_benchmark(), "deepbench-train").front();
  for (const auto& [fields, alpha, beta] :
       {std::tuple{"alpha0.5", 0.5, 1.0}, {"beta-1.25", 1.0, -1.25}, {"alpha-2beta0", -2.0, 0.0}}) {
    const std::vector<NamedProblem> found =
        find_problems(gemm_benchmark(), listed.name + "@" + fields);
    ASSERT_EQ(found.size(), 1u) << fields;
    GemmShape expected = parse_gemm(listed.descriptor);
    expected.alpha = alpha;
    expected.beta = beta;
    EXPECT_EQ(parse_gemm(found[0].descriptor), expected) << found[0].descriptor;
  }
}

}  // namespace test_gemm_lists
}  // namespace assay
