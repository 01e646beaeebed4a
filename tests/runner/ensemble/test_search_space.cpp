// The members of an ensemble, and their budgets.
#include "runner/ensemble/search_space.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.hpp"

namespace assay {
namespace test_search_space {

using nlohmann::json;

const json space = {{"rate", {{"log_uniform", {1e-3, 1}}}},
                    {"smoothing", {{"uniform", {0, 0.5}}}},
                    {"batch", {16, 32, 64}},
                    {"optimizer", {"sgd", "adam"}}};

TEST(SearchSpace, DrawsAreEvenAndOfTheSeedTheMemberAndTheNameAlone) {
  constexpr int count = 4000;
  const auto draws = draw_members(space, count, 3);
  double logarithms = 0, low = 1, high = 0;
  std::map<std::string, int> batches, optimizers;
  for (const auto& draw : draws) {
    const double rate = std::stod(draw.at("rate")), smoothing = std::stod(draw.at("smoothing"));
    logarithms += std::log10(rate) / count;
    low = std::min(low, rate);
    high = std::max(high, rate);
    EXPECT_TRUE(smoothing >= 0 && smoothing <= 0.5) << smoothing;
    ++batches[draw.at("batch")];
    ++optimizers[draw.at("optimizer")];
  }
  EXPECT_NEAR(logarithms, -1.5, 0.05);
  EXPECT_TRUE(low >= 1e-3 && low < 1.05e-3 && high <= 1 && high > 0.95) << low << " " << high;
  EXPECT_EQ(batches.size(), 3u);
  for (const auto& [batch, times] : batches) EXPECT_NEAR(times, count / 3, 150) << batch;
  for (const auto& [optimizer, times] : optimizers) EXPECT_NEAR(times, count / 2, 150);
  EXPECT_EQ(draw_members(space, count, 3), draws);
  EXPECT_NE(draw_members(space, count, 4), draws);
  // More members keep the first ones, other dimensions the values of these.
  const auto few = draw_members(space, 5, 3);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), draws.begin()));
  const json one = {{"batch", space["batch"]}};
  EXPECT_EQ(draw_members(one, 5, 3)[4].at("batch"), draws[4].at("batch"));
}

TEST(SearchSpace, RungsEndWithTheWholeBudget) {
  using Budgets = std::vector<std::int64_t>;
  EXPECT_EQ(rung_budgets("random", 2, 12, 8), (Budgets{8}));
  EXPECT_EQ(rung_budgets("halving", 2, 8, 8), (Budgets{1, 2, 4, 8}));
  EXPECT_EQ(rung_budgets("halving", 2, 12, 8), (Budgets{1, 2, 4, 8}));
  EXPECT_EQ(rung_budgets("halving", 2, 1000, 4), (Budgets{1, 2, 4}));  // no rung of half an epoch
  EXPECT_EQ(rung_budgets("halving", 3, 9, 100), (Budgets{11, 33, 100}));
  EXPECT_EQ(rung_budgets("halving", 3, 2, 100), (Budgets{100}));
}

std::string told(const json& group) {
  try {
    search_group({{"cases", json::array({group})}}, "s.json");
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(SearchSpace, WhatTheEnsembleSetsIsRefusedByName) {
  const json good = {{"benchmark", "train"}, {"epochs", {4}}, {"search", {{"rate", {0.1}}}}};
  EXPECT_EQ(told(good), "accepted");
  const auto with = [&](const char* where, const char* key, const json& value) {
    json group = good;
    (*where == 's' ? group["search"] : group)[key] = value;
    return told(group);
  };
  EXPECT_NE(with("search", "restart", {"yes"}).find("/cases/0/search/restart: --ensemble sets it"),
            std::string::npos);
  EXPECT_NE(with("group", "checkpoint", "file").find("/cases/0/checkpoint: --ensemble sets it"),
            std::string::npos);
  EXPECT_NE(with("search", "epochs", {1, 2}).find("/cases/0/search/epochs: members are compared"),
            std::string::npos);
  EXPECT_NE(with("group", "epochs", {1, 2}).find("/cases/0/epochs: found 2 values"),
            std::string::npos);
  EXPECT_NE(with("group", "epochs", 0).find("/cases/0/epochs"), std::string::npos);
  EXPECT_NE(with("group", "rate", "0.1").find("the group gives rate, too"), std::string::npos);
  EXPECT_NE(with("group", "device", "gpu").find("unsupported: members on a GPU"),
            std::string::npos);
}

TEST(SearchSpace, AMemberContinuesFromItsCheckpoint) {
  const SearchGroup group =
      search_group({{"cases", {{{"benchmark", "train"}, {"epochs", 4}, {"search", space}}}}}, "s");
  const json first = member_group(group, {{"rate", "0.5"}}, {2, "file", false}),
             second = member_group(group, {{"rate", "0.5"}}, {4, "file", true});
  EXPECT_EQ(first, (json{{"benchmark", "train"},
                         {"epochs", {2}},
                         {"rate", {"0.5"}},
                         {"threads", "1"},
                         {"unreached", "kept"},
                         {"checkpoint", "file"},
                         {"restart", "no"}}));
  EXPECT_EQ(second["restart"], "yes");
  EXPECT_FALSE(member_group(group, {}, {4}).contains("restart"));
}

}  // namespace test_search_space
}  // namespace assay
