#include "core/program/suite.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <functional>

#include "core/machine/environment.hpp"
#include "fake_benchmark.hpp"

namespace assay {
namespace test_suite {

namespace fs = std::filesystem;
using testing_fakes::FakeBenchmark;

class Suite : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("assay-suite-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static std::string message(const std::function<void()>& body) {
    try {
      body();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  FakeBenchmark benchmark_;
  Plugins plugins_{std::vector<fs::path>{}};
  fs::path folder_;
};

TEST_F(Suite, DefaultsFillEveryDimension) {
  const std::vector<Case> cases = expand(benchmark_, {{"threads", {"2"}}}, plugins_);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].id, "conv/forward/auto/mb1/t2");
}

TEST_F(Suite, AllIsEveryValueOfAClosedList) {
  EXPECT_EQ(expand(benchmark_, {{"direction", {"all"}}, {"threads", {"1"}}}, plugins_).size(), 2u);
  EXPECT_EQ(
      expand(benchmark_, {{"direction", {"forward", "all"}}, {"threads", {"1"}}}, plugins_).size(),
      2u);
  EXPECT_NE(message([&] { expand(benchmark_, {{"threads", {"some"}}}, plugins_); }), "");
  // All numbers of threads: by doubling, and as many as there are processors.
  const std::vector<Case> sweep =
      expand(benchmark_, {{"direction", {"forward"}}, {"threads", {"all"}}}, plugins_);
  for (std::size_t i = 0; i + 1 < sweep.size(); ++i)
    EXPECT_EQ(sweep[i].settings.at("threads"), std::to_string(1 << i));
  EXPECT_EQ(sweep.back().settings.at("threads"), std::to_string(processors()));
}

/// An axis with two names, and one that is found out.
class Ranked : public FakeBenchmark {
 public:
  std::vector<Dimension> dimensions() const override {
    std::vector<Dimension> all = FakeBenchmark::dimensions();
    all[2].flags = {all[2].name, "size"};
    Dimension ranks{"ranks", "", {}, {}, "r", ""};
    ranks.traits.determined = true;
    all.push_back(ranks);
    return all;
  }
  std::any complete(Settings& settings, const RankCount& started) const override {
    settings["ranks"] = std::to_string(started.ranks);
    if (settings["direction"] == "bwd_data") settings["algorithm"] = "auto";
    return {};
  }
};

TEST_F(Suite, WhatIsFoundOutIsInTheIdAndCannotBeAskedFor) {
  const Ranked ranked;
  const std::vector<Case> cases =
      expand(ranked, {{"threads", {"1"}}, {"size", {"mb2"}}, {"problem", {"mb3"}}}, plugins_, false,
             {4, 2});
  ASSERT_EQ(cases.size(), 2u) << "both names are one axis";
  EXPECT_EQ(cases[0].id, "conv/forward/auto/mb3/t1/r4");
  EXPECT_NE(message([&] {
              expand(ranked, {{"ranks", {"4"}}}, plugins_);
            }).find("unknown"),
            std::string::npos);
  // Settings that complete() makes equal are one case.
  EXPECT_EQ(
      expand(ranked, {{"direction", {"bwd_data"}}, {"algorithm", {"all"}}, {"threads", {"1"}}},
             plugins_)
          .size(),
      1u);
}

TEST_F(Suite, SeveralValuesAreTheProductWithProblemsSlowest) {
  const std::vector<Case> cases = expand(
      benchmark_,
      {{"threads", {"1"}}, {"direction", {"forward", "bwd_data"}}, {"problem", {"mb1", "mb2"}}},
      plugins_);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].id, "conv/forward/auto/mb1/t1");
  EXPECT_EQ(cases[1].id, "conv/bwd_data/auto/mb1/t1");
  EXPECT_EQ(cases[2].id, "conv/forward/auto/mb2/t1");
}

TEST_F(Suite, TheNarrowestToleranceOfACaseHolds) {
  const fs::path file =
      write("t.json", R"({"schema": "assay-suite/1", "name": "t", "tolerance": 0.05, "cases": [
      {"benchmark": "conv", "problem": ["mb1", "mb2"]},
      {"benchmark": "conv", "problem": ["mb2", "mb3"], "tolerance": 0.02},
      {"benchmark": "conv", "problem": ["mb3"], "tolerance": 0.2}]})");
  std::map<std::string, double> found;
  for (const Case& benchmark_case : expand_suite(benchmark_, read_suite(file), "t.json", plugins_))
    found[benchmark_case.settings.at("problem")] = benchmark_case.tolerance.value_or(-1);
  EXPECT_EQ(found, (std::map<std::string, double>{{"mb1", 0.05}, {"mb2", 0.02}, {"mb3", 0.02}}));
}

TEST_F(Suite, TheSameProblemTwiceIsOneCase) {
  EXPECT_EQ(expand(benchmark_, {{"problem", {"mb1", "mb1"}}, {"direction", {"forward", "forward"}}},
                   plugins_)
                .size(),
            1u);
}

/// An axis that has no place in the id.
class WithFile : public FakeBenchmark {
 public:
  std::vector<Dimension> dimensions() const override {
    std::vector<Dimension> all = FakeBenchmark::dimensions();
    Dimension file{"kept_file", "", {}, {"none"}, "", "none"};
    file.traits.in_id = false;
    all.push_back(file);
    return all;
  }
};

/// Cases that differ in it alone have one id: all but the first would be lost.
TEST_F(Suite, WhatHasNoPlaceInTheIdHasOneValue) {
  const WithFile with_file;
  EXPECT_EQ(message([&] {
              expand(with_file, {{"kept_file", {"a", "b"}}}, plugins_);
            }),
            "--kept-file has one value, but 2 are given (a and b; commas separate values). Give "
            "one.");
  EXPECT_EQ(expand(with_file, {{"kept_file", {"a", "a"}}}, plugins_).size(), 1u);
  EXPECT_EQ(expand(with_file, {{"kept_file", {"a"}}, {"direction", {"all"}}}, plugins_).size(), 2u);
}

TEST_F(Suite, WrongNamesAreToldWithTheNearest) {
  auto told = [&](std::map<std::string, std::vector<std::string>> chosen) {
    return message([&] { expand(benchmark_, chosen, plugins_); });
  };
  EXPECT_NE(told({{"direction", {"foward"}}}).find("Did you mean 'forward'?"), std::string::npos);
  EXPECT_NE(told({{"algorithm", {"drect"}}}).find("Did you mean 'direct'?"), std::string::npos);
  EXPECT_NE(told({{"directoin", {"forward"}}}).find("Did you mean 'direction'?"),
            std::string::npos);
  EXPECT_NE(told({{"problem", {"ic0"}}}).find("ic is zero"), std::string::npos);
  for (const char* threads : {"0", "-1", "two", "2x", "", "99999999999999999999"})
    EXPECT_NE(told({{"threads", {threads}}}).find("threads"), std::string::npos) << threads;
}

/// It has two backends, which are not built here.
class WithBackend : public FakeBenchmark {
 public:
  std::vector<Dimension> dimensions() const override {
    std::vector<Dimension> all = FakeBenchmark::dimensions();
    all.push_back({"backend", "", {"native", "onednn"}, {"native"}, "", "", true});
    return all;
  }
};

TEST_F(Suite, NoBackendOfAnotherBenchmarkIsSuggested) {
  // gloo has collectives alone; what a plugin from elsewhere has is not known.
  for (const char* name : {"gloo", "elsewhere"})
    write(std::string("libassay_") + name + ".so", "no library");
  Plugins plugins({folder_});
  const WithBackend benchmark;
  const auto told = [&](const char* backend) {
    return message([&] { expand(benchmark, {{"backend", {backend}}}, plugins); });
  };
  EXPECT_TRUE(
      told("glo").starts_with("unknown backend 'glo' (valid: native, onednn, elsewhere). "));
  EXPECT_NE(told("glo").find("ASSAY_PLUGIN_PATH"), std::string::npos);
  EXPECT_NE(told("elswhere").find("Did you mean 'elsewhere'?"), std::string::npos);
  // A suite that names it gets its own reason.
  EXPECT_EQ(told("gloo"), "");
}

TEST_F(Suite, ListsGiveNamesAndFieldsAfterAtOverride) {
  const std::vector<NamedProblem> list = find_problems(benchmark_, "coral2");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].name.starts_with("coral2/"));
  const std::vector<NamedProblem> found = find_problems(benchmark_, list[0].name + "@mb77");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, list[0].name);
  EXPECT_NE(found[0].descriptor.find("mb77"), std::string::npos);
  EXPECT_NE(list[0].descriptor, found[0].descriptor);
  // A field that the list does not give is added; its default gives way.
  const std::vector<NamedProblem> resnet = find_problems(benchmark_, "resnet50@mb3");
  ASSERT_EQ(resnet.size(), 23u);
  for (const NamedProblem& problem : resnet) {
    EXPECT_NE(problem.descriptor.find("mb3"), std::string::npos);
    EXPECT_EQ(problem.descriptor.find("mb16"), std::string::npos);
  }
  EXPECT_NE(message([&] { find_problems(benchmark_, "coral3"); }).find("'coral2'"),
            std::string::npos);
  // Near to no list, but no descriptor either: which lists there are is what helps.
  const std::string unknown = message([&] { find_problems(benchmark_, "vgg"); });
  EXPECT_NE(unknown.find("(valid: climate, coral2, "), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("As a descriptor: no descriptor 'vgg'"), std::string::npos) << unknown;
  EXPECT_NE(message([&] {
              find_problems(benchmark_, "coral2/winograt");
            }).find("Did you mean 'winograd'?"),
            std::string::npos);
}

TEST_F(Suite, AWholeListTellsHowOftenTheWholeHasEachProblem) {
  for (const std::string list : {"resnet50", "resnet50@mb3"}) {
    int repeats = 0;
    for (const Case& benchmark_case :
         expand(benchmark_, {{"threads", {"1"}}, {"problem", {list, list}}}, plugins_)) {
      ASSERT_EQ(benchmark_case.parts.size(), 1u)
          << benchmark_case.id;  // asked for twice, it is one whole
      EXPECT_EQ(benchmark_case.parts[0].list, list);
      EXPECT_EQ(benchmark_case.parts[0].whole, "the 53 convolutions of ResNet-50 v1.5");
      EXPECT_EQ(benchmark_case.parts[0].total, 53);
      repeats += benchmark_case.parts[0].repeat;
    }
    EXPECT_EQ(repeats, 53);
  }
  // One problem is no whole, and a list that stands for none has no parts.
  for (const std::string text : {"resnet50/conv1", "deepbench-train", "mb1"})
    for (const Case& wanted_case : expand(benchmark_, {{"problem", {text}}}, plugins_))
      EXPECT_TRUE(wanted_case.parts.empty()) << wanted_case.id;
}

TEST_F(Suite, EqualProblemsOfAWholeCountTogether) {
  // Overridden to the same shape, several problems of the list are one case.
  const std::vector<Case> cases = expand(
      benchmark_, {{"threads", {"1"}}, {"problem", {"resnet50@ic8ih8oc8oh8kh1sh1ph0"}}}, plugins_);
  int repeats = 0;
  bool together = false;
  for (const Case& benchmark_case : cases) {
    repeats += benchmark_case.parts.at(0).repeat;
    together |= benchmark_case.names.size() > 1 && benchmark_case.parts[0].repeat > 1;
  }
  EXPECT_LT(cases.size(), 23u);
  EXPECT_TRUE(together);
  EXPECT_EQ(repeats, 53);
}

TEST_F(Suite, ASuiteTellsFilePointerFoundAndExpected) {
  const std::string good =
      R"({"schema": "assay-suite/1", "name": "s", "description": "d", "cases": [
      {"benchmark": "conv", "problem": ["mb1", "mb2"], "direction": "bwd_data", "threads": 2, "required": true}]})";
  const fs::path file = write("good.json", good);
  const std::vector<Case> cases =
      expand_suite(benchmark_, read_suite(file), file.string(), plugins_);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].id, "conv/bwd_data/auto/mb2/t2");
  EXPECT_TRUE(cases[0].required);

  std::string bad = good;
  bad.replace(bad.find("bwd_data"), 8, "bwd_date");
  const fs::path wrong_value = write("wrong_value.json", bad);
  const std::string told = message(
      [&] { expand_suite(benchmark_, read_suite(wrong_value), wrong_value.string(), plugins_); });
  EXPECT_NE(told.find("wrong_value.json at /cases/0/direction: "), std::string::npos) << told;
  EXPECT_NE(told.find("Did you mean 'bwd_data'?"), std::string::npos) << told;

  std::string no_cases = good;
  no_cases.replace(no_cases.find("\"cases\""), 7, "\"casse\"");
  EXPECT_NE(message([&] { read_suite(write("no_cases.json", no_cases)); }).find("no_cases.json"),
            std::string::npos);
}

TEST_F(Suite, OverridesAreFieldsWithValues) {
  auto told = [&](const std::string& text) {
    return message([&] { find_problems(benchmark_, text); });
  };
  for (const std::string text : {"coral2/winograd@mb", "mb1@mb", "coral2@ic8mb"})
    EXPECT_TRUE(told(text).starts_with("'mb' after @ has no value")) << told(text);
  EXPECT_TRUE(told("mb1@7").starts_with("'7' after @ has no name")) << told("mb1@7");
  EXPECT_TRUE(told("mb1@mb=2").starts_with("'mb=2' after @ is not a field")) << told("mb1@mb=2");
  EXPECT_TRUE(told("mb1@").starts_with("nothing follows @")) << told("mb1@");
}

TEST_F(Suite, AnUnknownSuiteGetsTheNearestName) {
  EXPECT_NE(message([] { find_suite("smoek"); }).find("Did you mean 'smoke'?"), std::string::npos);
  EXPECT_EQ(find_suite("smoke").filename(), "smoke.json");
}

}  // namespace test_suite
}  // namespace assay
