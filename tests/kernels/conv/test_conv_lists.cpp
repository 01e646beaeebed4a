// The shipped lists of convolutions and the suites made of them, against the lists as their sources
// have them (tests/golden/problems/conv.csv: extents, not descriptors, so that an error in making
// descriptors shows).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "assay/test_paths.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"
#include "kernels/conv/benchmark.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace test_conv_lists {

using nlohmann::json;

json list_of(const std::string& name) {
  return read_checked(data_folder("suites") / "problems" / "conv" / (name + ".json"), "problems");
}

std::string whole_descriptor(const json& list, const json& problem) {
  return list.value("defaults", "") + problem.at("descriptor").get<std::string>();
}

TEST(ProblemLists, AreCompleteAndCanonical) {
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected{
      {"coral2", {2, 0}},           {"resnet50", {23, 0}},          {"climate", {12, 0}},
      {"deepbench-train", {94, 4}}, {"deepbench-server", {107, 4}}, {"deepbench-device", {16, 1}}};
  for (const auto& [name, counts] : expected) {
    const json list = list_of(name);
    EXPECT_EQ(list["name"], name);
    EXPECT_EQ(list["problems"].size(), counts.first) << name;
    std::set<std::string> names;
    std::map<std::string, std::string> first;  // descriptor → name
    std::size_t duplicates = 0;
    for (const json& problem : list["problems"]) {
      EXPECT_TRUE(names.insert(problem["name"]).second) << problem["name"];
      const std::string descriptor = whole_descriptor(list, problem);
      EXPECT_EQ(to_descriptor(parse_conv(descriptor)), descriptor);
      const auto [known, fresh] = first.emplace(descriptor, problem["name"]);
      EXPECT_EQ(fresh, !problem.contains("duplicate_of")) << problem["name"];
      if (!fresh) {
        ++duplicates;
        EXPECT_EQ(problem["duplicate_of"], known->second);
      }
    }
    EXPECT_EQ(duplicates, counts.second) << name;
  }
}

TEST(ProblemLists, AreThoseOfTheirSourcesInTheirOrder) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/problems/conv.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const std::vector<std::string> head = split(line, ',');
  std::map<std::string, std::size_t> lines;  // by list
  std::map<std::string, json> lists;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, ',');
    std::map<std::string, std::string> source;
    for (std::size_t i = 0; i < head.size(); ++i)
      source[head[i]] = i < cells.size() ? cells[i] : "";
    const std::string name = source["list"];
    if (!lists.contains(name)) lists[name] = list_of(name);
    const std::size_t place = lines[name]++;
    ASSERT_LT(place, lists[name]["problems"].size()) << line;
    const json& problem = lists[name]["problems"][place];
    EXPECT_EQ(problem["name"], source["name"]);
    EXPECT_EQ(problem["repeat"].dump(), source["repeat"]) << line;
    EXPECT_EQ(problem.value("duplicate_of", ""), source["duplicate_of"]) << line;
    const ConvShape shape = parse_conv(whole_descriptor(lists[name], problem));
    for (const auto& [key, extent] : std::map<std::string, std::int64_t>{{"mb", shape.mb},
                                                                         {"ic", shape.ic},
                                                                         {"ih", shape.ih},
                                                                         {"iw", shape.iw},
                                                                         {"oc", shape.oc},
                                                                         {"kh", shape.kh},
                                                                         {"kw", shape.kw},
                                                                         {"sh", shape.sh},
                                                                         {"sw", shape.sw},
                                                                         {"ph", shape.ph},
                                                                         {"pw", shape.pw}})
      EXPECT_EQ(std::to_string(extent), source[key]) << key << " of " << line;
    // No groups, no dilation, padding on both sides; sizes are rounded down.
    EXPECT_EQ(shape.g * (shape.dh + 1) * (shape.dw + 1) * shape.kd, 1) << line;
    EXPECT_EQ(shape.oh, (shape.ih + 2 * shape.ph - shape.kh) / shape.sh + 1) << line;
    EXPECT_EQ(shape.ow, (shape.iw + 2 * shape.pw - shape.kw) / shape.sw + 1) << line;
  }
  for (const auto& [name, count] : lines) EXPECT_EQ(count, lists[name]["problems"].size()) << name;
  EXPECT_EQ(lines, (std::map<std::string, std::size_t>{{"deepbench-train", 94},
                                                       {"deepbench-server", 107},
                                                       {"deepbench-device", 16},
                                                       {"resnet50", 23}}));
}

TEST(ProblemLists, Resnet50CountsAllItsConvolutions) {
  const json list = list_of("resnet50");
  int repeats = 0;
  double flops = 0;
  std::set<std::string> layers;
  for (const json& problem : list["problems"]) {
    repeats += problem["repeat"].get<int>();
    EXPECT_EQ(problem["layers"].size(), problem["repeat"].get<std::size_t>());
    for (const json& layer : problem["layers"]) EXPECT_TRUE(layers.insert(layer).second) << layer;
    const ConvProblem conv_problem(parse_conv("mb1" + problem["descriptor"].get<std::string>()),
                                   ConvDirection::forward, Precision::fp32);
    flops += conv_problem.flops() * problem["repeat"].get<int>();
  }
  EXPECT_EQ(repeats, 53);
  EXPECT_EQ(flops, 2.0 * 4087136256.0);  // multiply-adds of one 224 x 224 image
}

/// The cases of a shipped suite that run in one way.
std::vector<Case> cases_of(const std::string& suite, const Settings& way) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  std::vector<Case> cases =
      expand_suite(conv_benchmark(), read_suite(find_suite(suite)), suite, plugins);
  std::erase_if(cases, [&](const Case& benchmark_case) {
    return std::any_of(way.begin(), way.end(), [&](const auto& setting) {
      return benchmark_case.settings.at(setting.first) != setting.second;
    });
  });
  return cases;
}

TEST(ConvSuites, HaveEveryProblemOfTheirListOnce) {
  // Less the duplicates: the same problem twice is one case with two names.
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected{
      {"deepbench-train", {94, 90}},
      {"deepbench-server", {107, 103}},
      {"deepbench-device", {16, 15}},
      {"resnet50-conv", {23, 23}}};
  for (const auto& [suite, counts] : expected)
    for (const char* backend : {"onednn", "native"}) {
      const std::vector<Case> cases =
          cases_of(suite, {{"direction", "forward"}, {"precision", "fp32"}, {"backend", backend}});
      std::set<std::string> names, problems;
      for (const Case& benchmark_case : cases) {
        names.insert(benchmark_case.names.begin(), benchmark_case.names.end());
        problems.insert(benchmark_case.settings.at("problem"));
      }
      EXPECT_EQ(names.size(), counts.first) << suite;
      EXPECT_EQ(cases.size(), counts.second) << suite;
      EXPECT_EQ(problems.size(), counts.second) << suite;
    }
}

TEST(ConvSuites, Coral2RunsEachWayThatTheBackendsHave) {
  using Way = std::pair<std::string, std::string>;
  for (const char* direction : {"forward", "bwd_data", "bwd_weights"})
    for (const char* precision : {"fp32", "bf16", "fp16"})
      for (const char* cache : {"hot", "cold"}) {
        std::map<Way, std::size_t> ways;
        for (const Case& benchmark_case :
             cases_of("coral2-dls",
                      {{"direction", direction}, {"precision", precision}, {"cache", cache}}))
          ++ways[{benchmark_case.settings.at("backend"), benchmark_case.settings.at("algorithm")}];
        EXPECT_EQ(ways, (std::map<Way, std::size_t>{{{"onednn", "direct"}, 2},
                                                    {{"onednn", "winograd"}, 2},
                                                    {{"native", "implicit_gemm"}, 2},
                                                    {{"native", "winograd"}, 2}}))
            << direction << precision << cache;
      }
}

TEST(ConvSuites, Resnet50KnowsHowOftenTheNetworkHasEachProblem) {
  int repeats = 0;
  for (const Case& benchmark_case :
       cases_of("resnet50-conv",
                {{"direction", "bwd_data"}, {"precision", "fp32"}, {"backend", "onednn"}})) {
    ASSERT_EQ(benchmark_case.parts.size(), 1u) << benchmark_case.id;
    EXPECT_EQ(benchmark_case.parts[0].list, "resnet50");
    EXPECT_EQ(benchmark_case.parts[0].total, 53);
    repeats += benchmark_case.parts[0].repeat;
  }
  EXPECT_EQ(repeats, 53);
}

TEST(ConvSuites, NameBackendsThatNeedNotBeBuiltHere) {
  Plugins none({std::filesystem::path(ASSAY_BUILD_DIR) / "no such folder"});
  for (const char* suite : {"smoke", "deepbench-train", "deepbench-server", "deepbench-device",
                            "resnet50-conv", "coral2-dls", "coral2-gpu"})
    EXPECT_FALSE(expand_suite(conv_benchmark(), read_suite(find_suite(suite)), suite, none).empty())
        << suite;
  EXPECT_FALSE(expand(conv_benchmark(), {}, none).empty());
  EXPECT_THROW(expand(conv_benchmark(), {{"backend", {"onednm"}}}, none), InputError);
}

}  // namespace test_conv_lists
}  // namespace assay
