// `--guard` judges the run that has just ended, whatever the clocks of other runs say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/history/history.hpp"
#include "cli/guard.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace test_guard {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int weeks = 10;

class Guard : public testing::Test {
 protected:
  ~Guard() override { fs::remove_all(folder_); }

  /// The run of a week, with two rows of which the first takes `seconds`.
  static json run(int week, double seconds, const char* status = "ok") {
    json result =
        test::result({test::row(status, seconds), test::row("ok", 1, 0, {{"threads", "4"}})});
    result["run"]["id"] = fmt::format("run-{}", week);
    result["run"]["started"] = result["run"]["finished"] =
        fmt::format("2026-01-{:02}T08:00:00.000Z", week + 1);
    result["environments"] = {{{"host", "node"},
                               {"hardware", json::object()},
                               {"software", json::object()},
                               {"volatile", json::object()},
                               {"hashes", {{"hardware", "hw"}, {"software", "sw"}}}}};
    return result;
  }

  fs::path folder_of(int week) const { return folder_ / fmt::format("week{:02}", week); }

  void keep(int week, const json& result) {
    fs::create_directories(folder_of(week));
    write_json(folder_of(week) / "result.json", result);
  }

  /// Ten good weeks, of which the last is dated after the run that the guard judges.
  void SetUp() override {
    for (int week = 0; week < weeks; ++week)
      keep(week == 9 ? 20 : week, run(week == 9 ? 20 : week, 1));
  }

  /// The guard's output for this run of week 9, and its exit code.
  std::pair<std::string, ExitCode> guarded(const json& result) {
    keep(weeks - 1, result);
    RunPlan plan;
    plan.campaign.folder = folder_of(weeks - 1);
    testing::internal::CaptureStdout();
    const ExitCode code = guard(folder_, result, plan);
    return {testing::internal::GetCapturedStdout(), code};
  }

  fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("assay-guard-{}", getpid());
};

TEST_F(Guard, JudgesItsRunAlthoughAnotherOneBeganLater) {
  const auto [good, ok] = guarded(run(weeks - 1, 1.001));
  EXPECT_EQ(ok, ExitCode::ok) << good;
  EXPECT_EQ(good, "");
  // Nobody promoted a build that could confirm it.
  const auto [slow, code] = guarded(run(weeks - 1, 1.2));
  EXPECT_EQ(code, ExitCode::unconfirmed);
  EXPECT_NE(slow.find("suspect: the last run takes 20.0 % longer"), std::string::npos) << slow;
}

TEST_F(Guard, ALossIsSeenAlthoughAnotherRunBeganLater) {
  const auto [text, code] = guarded(run(weeks - 1, 0, "unsupported"));
  EXPECT_EQ(code, ExitCode::incomparable);
  EXPECT_NE(text.find(": lost: "), std::string::npos) << text;
}

TEST_F(Guard, NamesTheRowsThatItCannotJudge) {
  json unknown = run(weeks - 1, 1);
  unknown["environments"][0]["hashes"]["hardware"] = nullptr;
  const auto [text, code] = guarded(unknown);
  EXPECT_EQ(code, ExitCode::incomparable);
  for (const json& row : unknown["rows"])
    EXPECT_NE(text.find(fmt::format("guard: {}: not judged: its hardware is unknown (no hash)",
                                    row["id"].get<std::string>())),
              std::string::npos)
        << text;

  const auto [failed, failed_code] = guarded(run(weeks - 1, 0, "failed"));
  EXPECT_EQ(failed_code, ExitCode::failed);
  EXPECT_NE(failed.find("not judged: failed: why it is failed"), std::string::npos) << failed;
}

}  // namespace test_guard
}  // namespace assay
