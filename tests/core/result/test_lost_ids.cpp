// A case that is ok in one launch and unsupported in another was lost.
#include <gtest/gtest.h>

#include "core/result/result.hpp"

namespace assay {
namespace test_lost_ids {

using nlohmann::json;

json row(const std::string& id, int launch, const std::string& status, int attempt = 0) {
  return {{"id", id}, {"launch", launch}, {"attempt", attempt}, {"status", status}};
}

TEST(LostIds, UnsupportedInOneLaunchOnly) {
  const json rows = {row("a", 0, "ok"), row("a", 1, "unsupported"), row("b", 0, "ok")};
  EXPECT_EQ(list_lost_ids(rows), std::set<std::string>{"a"});
  EXPECT_EQ(exit_code(rows), ExitCode::incomparable);
}

TEST(LostIds, UnsupportedInEveryLaunchIsNotLost) {
  const json rows = {row("a", 0, "unsupported"), row("a", 1, "unsupported"), row("b", 0, "ok")};
  EXPECT_TRUE(list_lost_ids(rows).empty());
  EXPECT_EQ(exit_code(rows), ExitCode::ok);
}

TEST(LostIds, ALaterAttemptRepairsIt) {
  const json rows = {row("a", 0, "ok"), row("a", 1, "unsupported"), row("a", 1, "ok", 1)};
  EXPECT_TRUE(list_lost_ids(rows).empty());
  EXPECT_EQ(exit_code(rows), ExitCode::ok);
}

TEST(LostIds, GraverCodesStand) {
  EXPECT_EQ(exit_code({row("a", 0, "ok"), row("a", 1, "unsupported"), row("b", 0, "failed")}),
            ExitCode::failed);
}

}  // namespace test_lost_ids
}  // namespace assay
