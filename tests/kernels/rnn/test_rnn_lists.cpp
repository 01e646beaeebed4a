// The shipped lists of recurrent networks against their sources (tests/golden/problems/rnn.csv),
// and the suites made of them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "assay/test_paths.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "core/result/baseline.hpp"
#include "core/result/schema.hpp"
#include "kernels/rnn/benchmark.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay {
namespace test_rnn_lists {

using nlohmann::json;

json list_of(const std::string& name) {
  return read_checked(data_folder("suites") / "problems" / "rnn" / (name + ".json"), "problems");
}

TEST(RnnLists, AreThoseOfTheirSourcesInTheirOrder) {
  const std::map<std::string, std::string> cells{
      {"vanilla", "vanilla_relu"}, {"lstm", "lstm"}, {"gru", "gru_lbr"}};
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/golden/problems/rnn.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  std::map<std::string, std::size_t> lines;
  std::map<std::string, json> lists;
  while (std::getline(file, line)) {
    const std::vector<std::string> source = split(line, ',');
    ASSERT_EQ(source.size(), 6u) << line;
    if (!lists.contains(source[0])) lists[source[0]] = list_of(source[0]);
    const std::size_t place = lines[source[0]]++;
    ASSERT_LT(place, lists[source[0]]["problems"].size()) << line;
    const json& problem = lists[source[0]]["problems"][place];
    EXPECT_EQ(problem["name"], source[1]);
    const std::string descriptor = problem["descriptor"];
    const RnnShape shape = parse_rnn(descriptor);
    EXPECT_EQ(to_descriptor(shape), descriptor);
    EXPECT_EQ(name(shape.cell), cells.at(source[2])) << line;
    EXPECT_EQ(std::to_string(shape.hidden), source[3]) << line;
    EXPECT_EQ(std::to_string(shape.batch), source[4]) << line;
    EXPECT_EQ(std::to_string(shape.steps), source[5]) << line;
    EXPECT_EQ(shape.input, shape.hidden) << line;
    EXPECT_EQ(shape.layers * shape.directions, 1) << line;
  }
  EXPECT_EQ(lines,
            (std::map<std::string, std::size_t>{
                {"deepbench-train", 53}, {"deepbench-server", 69}, {"deepbench-device", 3}}));
  for (const auto& [name, count] : lines) EXPECT_EQ(lists[name]["problems"].size(), count) << name;
  EXPECT_EQ(list_of("coral2")["problems"].size(), 2u);
}

TEST(RnnSuites, RunEveryProblemWithBothInputs) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const std::map<std::string, std::size_t> expected{{"deepbench-train", 53},
                                                    {"deepbench-server", 69},
                                                    {"deepbench-device", 3},
                                                    {"coral2-dls", 2}};
  for (const auto& [suite, count] : expected) {
    std::map<std::string, std::set<std::string>> problems;  // by backend, input and direction
    for (const Case& one :
         expand_suite(rnn_benchmark(), read_suite(find_suite(suite)), suite, plugins))
      if (one.settings.at("precision") == "fp32")
        problems[one.settings.at("backend") + " " + one.settings.at("input") + " " +
                 one.settings.at("direction")]
            .insert(one.settings.at("problem"));
    for (const auto& [way, names] : problems) EXPECT_EQ(names.size(), count) << suite << " " << way;
    const std::string direction =
        suite == "deepbench-train" || suite == "coral2-dls" ? "bwd" : "forward_inference";
    for (const char* backend : {"onednn", "native"})
      for (const char* input : {"skip", "linear"})
        EXPECT_EQ(problems[std::string(backend) + " " + input + " " + direction].size(), count)
            << suite;
  }
  EXPECT_FALSE(
      expand_suite(rnn_benchmark(), read_suite(find_suite("smoke")), "smoke", plugins).empty());
}

/// Verifying it takes longer than the 20 times max_time after which `assay run` kills a case.
TEST(RnnSuites, GiveTheLongGruTimeToBeVerified) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  std::set<std::string> found;
  for (const std::string& name : list_suite_names()) {
    const json suite = read_suite(find_suite(name));
    for (const Case& one : expand_suite(rnn_benchmark(), suite, name, plugins)) {
      const RnnShape shape = parse_rnn(one.settings.at("problem"));
      if (shape.steps * shape.batch * shape.hidden < 1500 * 64 * 1024) continue;
      EXPECT_GE(suite.at("timing").value("timeout", 0.0), 1200) << name << ": " << one.id;
      found.insert(name);
      break;
    }
  }
  EXPECT_TRUE(found.contains("coral2-dls"));
  EXPECT_TRUE(found.contains("coral2-gpu"));
}

TEST(RnnLists, FieldsOfBenchdnnMayBeOverridden) {
  const std::vector<NamedProblem> found =
      find_problems(rnn_benchmark(), "lstm:l1t25mb64dhc1024@mb32t5");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].descriptor, "lstm:1024-32-5");
}

TEST(RnnSuites, HaveAPartnerForEveryPublishedRow) {
  // The id of a row without what a system may choose: its backend, its number of threads.
  const auto work = [](const std::string& id) {
    std::vector<std::string> parts = split(id, '/');
    parts.resize(8);
    parts.erase(parts.begin() + 3);
    return join(parts, "/");
  };
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  std::map<std::string, std::set<std::string>> measured;  // by list
  for (const char* suite : {"deepbench-train", "deepbench-server"})
    for (const Case& one :
         expand_suite(rnn_benchmark(), read_suite(find_suite(suite)), suite, plugins))
      measured[suite].insert(work(one.id));
  std::size_t found = 0;
  for (const std::string& name : list_baseline_names()) {
    if (!name.starts_with("deepbench-")) continue;
    const Baseline baseline = Baseline::load(name);
    for (const json row : baseline.rows()) {
      if (row["benchmark"] != "rnn") continue;
      const std::string id = row["id"], list = split(row["names"][0].get<std::string>(), '/')[0];
      EXPECT_TRUE(measured[list].contains(work(id))) << name << ": " << id;
      ++found;
    }
  }
  EXPECT_EQ(found, 1797u);
}

}  // namespace test_rnn_lists
}  // namespace assay
