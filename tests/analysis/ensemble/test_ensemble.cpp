// The ranking of an ensemble, and what a reader finds of a wrong one.
#include "analysis/ensemble/ensemble.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.hpp"

namespace assay {
namespace test_ensemble {

/// The row of a member that has trained up to `epochs` of its budget.
Row row_of(int member, int budget, double quality, int epochs, const std::string& status = "ok",
           const std::string& reason = "") {
  Row row;
  row.launch = member;
  row.status = status;
  row.reason = reason;
  row.parameters = {{"epochs", budget}, {"target", "0.9"}, {"rate", std::to_string(member)}};
  if (status != "ok") return row;
  row.metrics["accuracy"].value = quality;
  row.epochs = {{{"epoch", epochs},
                 {"seconds", 1.5},
                 {"accuracy", quality},
                 {"started_unix_s", 1000},
                 {"ended_unix_s", 1001}}};
  return row;
}

/// Six members, the better half of which goes on.
struct Example {
  Ensemble ensemble;
  RunResult result;

  Example() {
    ensemble.search = "halving";
    ensemble.target = 0.9;
    for (int member = 0; member < 6; ++member) {
      ensemble.draws.push_back({{"rate", std::to_string(member)}});
      ensemble.runs.push_back({member, 0, 1000.0 + member, 1010.0 + member, "h", 0, ""});
    }
    ensemble.rungs = {{2, {0, 1, 2, 3, 4, 5}}, {4, {1, 2, 4}}};
    for (const int member : {1, 2})
      ensemble.runs.push_back({member, 1, 1020, member == 1 ? 1720.0 : 1030, "h", 0, ""});
    result.rows = {row_of(0, 2, 0.5, 2),
                   row_of(1, 2, 0.7, 2),
                   row_of(2, 2, 0.6, 2),
                   row_of(3, 2, 0, 0, "incorrect", "training diverged: the loss is nan"),
                   row_of(4, 2, 0.95, 1),
                   row_of(5, 2, 0, 0, "failed", "killed by signal 11 (Segmentation fault)"),
                   row_of(1, 4, 0.92, 3),
                   row_of(2, 4, 0.8, 4)};
    ensemble.summary = summarise(ensemble, result.rows);
  }

  std::string told() const {
    try {
      expect_ensemble(ensemble, result, "f");
      return "accepted";
    } catch (const InputError& error) {
      return error.what();
    }
  }
};

TEST(Ensemble, FewerEpochsThenRungThenQualityThenNumber) {
  const Example example;
  std::vector<int> places;
  for (const RankedMember& member : example.ensemble.summary.ranking)
    places.push_back(member.member);
  EXPECT_EQ(places, (std::vector<int>{4, 1, 2, 0}));
  EXPECT_EQ(example.ensemble.summary.reached, 2);
  EXPECT_EQ(example.told(), "accepted");
  EXPECT_EQ(count_text(example.ensemble),
            "6 members: 2 reached 0.9, 2 did not, 1 crashed (exit 139), 1 diverged");
  const RankedMember a{3, 0, 2, 0.5, false, 9}, b{4, 0, 2, 0.5, false, 1};
  EXPECT_TRUE(is_better(a, b) && !is_better(b, a)) << "the time decides between equal members";
}

TEST(Ensemble, HoursEndWithTheLastMember) {
  const Example example;
  EXPECT_DOUBLE_EQ(*example.ensemble.summary.hours, 0.2);
  EXPECT_DOUBLE_EQ(*example.ensemble.summary.models_per_hour, 10);
}

TEST(Ensemble, TheBetterPartGoesOnAndThoseAtTheTargetTrainNoFurther) {
  Example example;
  EXPECT_EQ(next_members(example.ensemble, example.result.rows, 0), (std::vector<int>{1, 2, 4}));
  example.ensemble.factor = 3;
  EXPECT_EQ(next_members(example.ensemble, example.result.rows, 0), (std::vector<int>{1, 4}));
  example.result.rows[1] = row_of(1, 2, 0.91, 2);
  EXPECT_TRUE(next_members(example.ensemble, example.result.rows, 0).empty());
}

TEST(Ensemble, MembersWithoutAResultAreMissing) {
  Example example;
  example.result.rows.pop_back();
  example.ensemble.summary = summarise(example.ensemble, example.result.rows);
  EXPECT_EQ(example.ensemble.summary.unranked[0].state, "missing");
  EXPECT_EQ(example.ensemble.summary.ranking.size(), 3u);
  EXPECT_EQ(example.told(), "accepted");
}

TEST(Ensemble, AResumedRunHasNoHours) {
  Example example;
  example.ensemble.sessions = 2;
  example.ensemble.summary = summarise(example.ensemble, example.result.rows);
  EXPECT_FALSE(example.ensemble.summary.hours);
  EXPECT_NE(example.ensemble.summary.hours_reason, "");
  EXPECT_EQ(example.told(), "accepted");
}

TEST(Ensemble, EachFaultOfARankingIsFound) {
  using Mutation = std::function<void(Example&)>;
  const auto hours_until = [](Example& example, double end) {
    example.ensemble.summary.hours = (end - 1000) / 3600;
    example.ensemble.summary.models_per_hour = 2 / *example.ensemble.summary.hours;
  };
  const std::vector<std::pair<std::string, Mutation>> mutations = {
      {"5 of 6 members", [](Example& e) { e.ensemble.summary.ranking.pop_back(); }},
      {"5 of 6 members", [](Example& e) { e.ensemble.summary.unranked.pop_back(); }},
      {"is better than", [](Example& e) { std::ranges::reverse(e.ensemble.summary.ranking); }},
      {"/summary/hours: found", [&](Example& e) { hours_until(e, 1010); }},
      {"/models_per_hour: found", [](Example& e) { *e.ensemble.summary.models_per_hour *= 2; }},
      {"/reached: found 3", [](Example& e) { ++e.ensemble.summary.reached; }},
      {"is not that of a verified row",
       [](Example& e) { e.ensemble.summary.ranking[0].quality = 0.99; }},
      {"its row is verified",
       [](Example& e) {
         e.ensemble.summary.ranking.pop_back();
         e.ensemble.summary.unranked.push_back({0, 0, "failed", ""});
       }},
      {"its rate is 1", [](Example& e) { e.ensemble.draws[1]["rate"] = "7"; }},
      {"before the better member 2",
       [](Example& e) {
         e.result.rows.back() = row_of(0, 4, 0.8, 4);
         e.ensemble.rungs[1].members = {0, 1, 4};
         e.ensemble.summary = summarise(e.ensemble, e.result.rows);
       }},
      {"it has 2 members, expected 3",
       [](Example& e) {
         e.result.rows.pop_back();
         e.ensemble.rungs[1].members = {1, 4};
         e.ensemble.summary = summarise(e.ensemble, e.result.rows);
       }},
      {"trained again",
       [](Example& e) {
         e.result.rows.back().epochs.insert(e.result.rows.back().epochs.begin(), {{"epoch", 2}});
       }},
      {"trained outside of the hours",
       [&](Example& e) {
         for (MemberRun& run : e.ensemble.runs) run.started_unix_s += 100, run.ended_unix_s += 100;
         e.ensemble.summary = summarise(e.ensemble, e.result.rows);
       }},
      {"but no run", [](Example& e) { e.ensemble.runs.erase(e.ensemble.runs.begin()); }},
      {"another target", [](Example& e) { e.result.rows[0].parameters["target"] = "0.5"; }},
      {"belongs to no member", [](Example& e) { e.result.rows[0].launch = 6; }},
  };
  for (const auto& [text, mutate] : mutations) {
    Example example;
    mutate(example);
    EXPECT_NE(example.told().find(text), std::string::npos) << text << ": " << example.told();
  }
}

}  // namespace test_ensemble
}  // namespace assay
