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
  row.parameters = {
      {"epochs", budget}, {"target", "0.9"}, {"rate", std::to_string(member)}, {"threads", 1}};
  if (status != "ok") return row;
  row.metrics["accuracy"].value = quality;
  row.epochs = {{.epoch = epochs,
                 .seconds = 1.5,
                 .started_unix_s = 1000,
                 .ended_unix_s = 1001,
                 .measures = {{"accuracy", quality}}}};
  return row;
}

/// Six members, the better half of which goes on.
struct Example {
  Ensemble ensemble;
  RunResult result;

  Example() {
    ensemble.search = "halving";
    ensemble.target = 0.9;
    ensemble.slots = 6;
    ensemble.space = {{"rate", {0, 1, 2, 3, 4, 5}}};
    for (int member = 0; member < 6; ++member) {
      ensemble.draws.push_back({{"rate", std::to_string(member)}});
      ensemble.runs.push_back({member, 0, 1000.0 + member, 1010.0 + member, "h", member, ""});
    }
    ensemble.rungs = {{2, {0, 1, 2, 3, 4, 5}}, {4, {1, 2, 4}}};
    for (const int member : {1, 2})
      ensemble.runs.push_back({member, 1, 1020, member == 1 ? 1720.0 : 1030, "h", member - 1, ""});
    result.rows = {row_of(0, 2, 0.5, 2),
                   row_of(1, 2, 0.7, 2),
                   row_of(2, 2, 0.6, 2),
                   row_of(3, 2, 0, 0, "incorrect", "training diverged: the loss is nan"),
                   row_of(4, 2, 0.95, 1),
                   row_of(5, 2, 0, 0, "failed", "killed by signal 11 (Segmentation fault)"),
                   row_of(1, 4, 0.92, 3),
                   row_of(2, 4, 0.8, 4)};
    ensemble.summary = summarize_ensemble(ensemble, result.rows);
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

/// Member 2 goes on to rung 1, and leaves no row there.
Example stopped_example(const std::string& missing) {
  Example example;
  example.result.rows.pop_back();
  example.ensemble.runs.pop_back();
  if (!missing.empty()) example.ensemble.runs.push_back({2, 1, 1020, 1030, "h", 1, missing});
  example.ensemble.summary = summarize_ensemble(example.ensemble, example.result.rows);
  return example;
}

TEST(Ensemble, MembersThatStopKeepThePlaceOfTheirLastVerifiedRung) {
  for (const auto& [missing, reason] :
       {std::pair{"", "it was not started (no time was left)"}, {"killed", "killed"}}) {
    const Example example = stopped_example(missing);
    const EnsembleSummary& summary = example.ensemble.summary;
    std::vector<int> places;
    for (const RankedMember& member : summary.ranking) places.push_back(member.member);
    EXPECT_EQ(places, (std::vector<int>{4, 1, 2, 0})) << "2 beat 0";
    EXPECT_EQ(summary.ranking[2].rung, 0);
    EXPECT_EQ(summary.ranking[2].quality, 0.6);
    ASSERT_EQ(summary.stopped.size(), 1u);
    EXPECT_EQ(summary.stopped[0].member, 2);
    EXPECT_EQ(summary.stopped[0].state, "missing");
    EXPECT_EQ(summary.stopped[0].reason, reason);
    EXPECT_EQ(summary.incomplete, (std::vector<int>{0, 1}));
    EXPECT_EQ(example.told(), "accepted");
    EXPECT_EQ(count_text(example.ensemble),
              "6 members: 2 reached 0.9, 2 did not (of which 1 went on, but stopped: 1 missing), "
              "1 crashed (exit 139), 1 diverged");
    const std::string table = render_ensemble_table(example.ensemble, false, false),
                      went_on = std::string("went on to rung 2, but: ") + reason;
    for (const std::string& text :
         {went_on, std::string("Rung 2 is incomplete: 1 of 3 members"), std::string("1*")})
      EXPECT_NE(table.find(text), std::string::npos) << text << '\n' << table;
    EXPECT_NE(render_ensemble_csv(example.ensemble).find(went_on), std::string::npos);
  }
}

TEST(Ensemble, MembersThatCrashInALaterRungKeepTheirPlace) {
  Example example;
  example.result.rows.back() = row_of(2, 4, 0, 0, "timeout", "killed after 4 s");
  example.ensemble.summary = summarize_ensemble(example.ensemble, example.result.rows);
  EXPECT_EQ(example.ensemble.summary.ranking[2].member, 2);
  EXPECT_EQ(example.ensemble.summary.stopped[0].state, "timed out");
  EXPECT_EQ(example.told(), "accepted");
  EXPECT_NE(render_ensemble_table(example.ensemble, false, false)
                .find("went on to rung 2, but: timed out: killed after 4 s"),
            std::string::npos);
}

TEST(Ensemble, MembersWithoutAVerifiedRungHaveNoPlace) {
  Example example;
  example.result.rows.erase(example.result.rows.begin());
  example.ensemble.runs[0].missing = "killed";
  example.ensemble.summary = summarize_ensemble(example.ensemble, example.result.rows);
  EXPECT_EQ(example.ensemble.summary.unranked[0].state, "missing");
  EXPECT_EQ(example.ensemble.summary.unranked[0].reason, "killed");
  EXPECT_EQ(example.ensemble.summary.ranking.size(), 3u);
  EXPECT_EQ(example.told(), "accepted");
}

TEST(Ensemble, NoMemberIsVerified) {
  Example example;
  example.ensemble.rungs.pop_back();
  std::erase_if(example.ensemble.runs, [](const MemberRun& run) { return run.rung == 1; });
  example.result.rows.clear();
  for (int member = 0; member < 6; ++member)
    example.result.rows.push_back(row_of(member, 2, 0, 0, "timeout", "killed after 4 s"));
  example.ensemble.summary = summarize_ensemble(example.ensemble, example.result.rows);
  EXPECT_EQ(example.told(), "accepted");
  EXPECT_NE(render_ensemble_table(example.ensemble, false, false).find("0 models an hour to 0.9 ("),
            std::string::npos);
}

TEST(Ensemble, AResumedRunHasNoHours) {
  Example example;
  example.ensemble.sessions = 2;
  example.result.run.resumed = 1;
  example.ensemble.summary = summarize_ensemble(example.ensemble, example.result.rows);
  EXPECT_FALSE(example.ensemble.summary.hours);
  EXPECT_NE(example.ensemble.summary.hours_reason, "");
  EXPECT_EQ(example.told(), "accepted");
}

using Mutations = std::vector<std::pair<std::string, std::function<void(Example&)>>>;

/// Each mutation is refused with its text.
void expect_found(const Mutations& mutations, const std::function<Example()>& example_of = {}) {
  for (const auto& [text, mutate] : mutations) {
    Example example = example_of ? example_of() : Example();
    ASSERT_EQ(example.told(), "accepted");
    mutate(example);
    EXPECT_NE(example.told().find(text), std::string::npos) << text << ": " << example.told();
  }
}

TEST(Ensemble, EachFaultOfARankingIsFound) {
  const auto hours_until = [](Example& example, double end) {
    example.ensemble.summary.hours = (end - 1000) / 3600;
    example.ensemble.summary.models_per_hour = 2 / *example.ensemble.summary.hours;
  };
  const Mutations mutations = {
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
         e.ensemble.summary = summarize_ensemble(e.ensemble, e.result.rows);
       }},
      {"it has 2 members, expected 3",
       [](Example& e) {
         e.result.rows.pop_back();
         e.ensemble.rungs[1].members = {1, 4};
         e.ensemble.summary = summarize_ensemble(e.ensemble, e.result.rows);
       }},
      {"trained again",
       [](Example& e) {
         e.result.rows.back().epochs.insert(e.result.rows.back().epochs.begin(), {.epoch = 2});
       }},
      {"member 0 does not say when it trained",
       [](Example& e) { e.result.rows.front().epochs.back().ended_unix_s.reset(); }},
      {"trained outside of the hours",
       [&](Example& e) {
         for (MemberRun& run : e.ensemble.runs) run.started_unix_s += 100, run.ended_unix_s += 100;
         e.ensemble.summary = summarize_ensemble(e.ensemble, e.result.rows);
       }},
      {"but no run", [](Example& e) { e.ensemble.runs.erase(e.ensemble.runs.begin()); }},
      {"another target", [](Example& e) { e.result.rows[0].parameters["target"] = "0.5"; }},
      {"belongs to no member", [](Example& e) { e.result.rows[0].launch = 6; }},
  };
  expect_found(mutations);
}

TEST(Ensemble, EachFaultOfItsRunsIsFound) {
  const auto anew = [](Example& e) {
    e.ensemble.summary = summarize_ensemble(e.ensemble, e.result.rows);
  };
  const auto resumed = [anew](Example& e) {
    e.ensemble.sessions = 2, e.result.run.resumed = 1;
    anew(e);
  };
  expect_found({
      {"/sessions: found 2, but the run was resumed 0 times",
       [&](Example& e) {
         e.ensemble.sessions = 2;
         anew(e);
       }},
      {"a resumed run has no hours",
       [](Example& e) { e.ensemble.sessions = 2, e.result.run.resumed = 1; }},
      {"the hours of the runs are left out",
       [](Example& e) {
         e.ensemble.summary.hours = e.ensemble.summary.models_per_hour = std::nullopt;
         e.ensemble.summary.hours_reason = "lost";
       }},
      {"no hours, and no reason",
       [&](Example& e) {
         resumed(e);
         e.ensemble.summary.hours_reason = "";
       }},
      {"a reason why there are none",
       [](Example& e) { e.ensemble.summary.hours_reason = "resumed"; }},
      {"/slots: found 64, but 8 runs ran in 6 slots", [](Example& e) { e.ensemble.slots = 64; }},
      {"/slots: found 5", [](Example& e) { e.ensemble.slots = 5; }},
      {"ran in its slot at the same time", [](Example& e) { e.ensemble.runs[1].slot = 0; }},
      {"/threads: row 0 has 1", [](Example& e) { e.ensemble.threads = 4; }},
      {"the search random has one", [](Example& e) { e.ensemble.search = "random"; }},
      {"its budget is not 3 times", [](Example& e) { e.ensemble.factor = 3; }},
      {"member 2 ran more than once in a session",
       [](Example& e) {
         e.ensemble.runs.push_back({2, 1, 1040, 1050, "h", 3, ""});
       }},
      {"it has a row, but a reason why there is none",
       [](Example& e) { e.ensemble.runs[0].missing = "killed"; }},
      {"neither a row nor a reason",
       [&](Example& e) {
         e.result.rows.pop_back();
         anew(e);
       }},
  });
}

TEST(Ensemble, EachFaultOfAMemberThatStoppedIsFound) {
  expect_found(
      {
          {"/ranking/2: it went on to rung 1",
           [](Example& e) {
             e.ensemble.summary.stopped.clear();
             e.ensemble.summary.incomplete = {0};
           }},
          {"it is verified in rung 0",
           [](Example& e) {
             e.ensemble.summary.ranking.erase(e.ensemble.summary.ranking.begin() + 2);
             e.ensemble.summary.unranked.push_back(e.ensemble.summary.stopped[0]);
             e.ensemble.summary.stopped.clear();
           }},
          {"its reason is not that of the run",
           [](Example& e) { e.ensemble.summary.stopped[0].reason = "late"; }},
          {"it has no row", [](Example& e) { e.ensemble.summary.stopped[0].state = "timed out"; }},
          {"its row is verified", [](Example& e) { e.ensemble.summary.stopped[0].member = 1; }},
          {"the member does not belong to the rung",
           [](Example& e) { e.ensemble.summary.stopped[0].member = 0; }},
          {"the member stands twice",
           [](Example& e) { e.ensemble.summary.stopped.push_back(e.ensemble.summary.stopped[0]); }},
          {"/summary/incomplete", [](Example& e) { e.ensemble.summary.incomplete.pop_back(); }},
      },
      [] { return stopped_example("killed"); });
}

TEST(Ensemble, EachFaultOfItsDrawsIsFound) {
  const auto drawn = [] {
    Example example;
    example.ensemble.space["problem"] = {"mlp:w1", "mlp:w2"};
    for (std::size_t member = 0; member < 6; ++member)
      example.ensemble.draws[member]["problem"] = "mlp:w1";
    for (Row& row : example.result.rows) row.problem.descriptor = "mlp:w1";
    return example;
  };
  EXPECT_EQ(drawn().told(), "accepted");
  expect_found({{"its problem is mlp:w2, but mlp:w1 was drawn for member 0",
                 [](Example& e) { e.result.rows[0].problem.descriptor = "mlp:w2"; }},
                {"its problem is mlp:w1, but mlp:w2 was drawn for member 1",
                 [](Example& e) { e.ensemble.draws[1]["problem"] = "mlp:w2"; }},
                {"/draws/1: its values are not those of the space",
                 [](Example& e) { e.ensemble.draws[1].erase("problem"); }},
                {"row 2: it has no lag",
                 [](Example& e) {
                   e.ensemble.space["lag"] = {0};
                   for (auto& draw : e.ensemble.draws) draw["lag"] = "0";
                   e.result.rows[0].parameters["lag"] = e.result.rows[1].parameters["lag"] = 0;
                 }}},
               drawn);
}

}  // namespace test_ensemble
}  // namespace assay
