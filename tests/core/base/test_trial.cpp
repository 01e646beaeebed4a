// Calls that end or hang a process end only a child.
#include "core/base/trial.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace assay {
namespace test_trial {

constexpr std::chrono::seconds long_enough{60};

TEST(Trial, TheAnswerIsWhatTheBodyReturns) {
  for (const std::string& text : {std::string(), std::string("a\nb\n"), std::string(100000, 'x')})
    EXPECT_EQ(try_in_child([&] { return text; }, long_enough).answer, text);
}

TEST(Trial, AnEndIsTold) {
  const auto reason = [](const std::function<void()>& end) {
    const Trial trial = try_in_child(
        [&] {
          end();
          return std::string();
        },
        long_enough);
    EXPECT_FALSE(trial.answer);
    return trial.reason;
  };
  EXPECT_NE(reason([] { std::raise(SIGKILL); }).find("by signal 9"), std::string::npos);
  EXPECT_NE(reason([] { _exit(3); }).find("exit code 3"), std::string::npos);
}

TEST(Trial, AHangIsEnded) {
  const Trial trial = try_in_child(
      [] {
        for (;;) ::pause();
        return std::string();
      },
      std::chrono::milliseconds(200));
  EXPECT_EQ(trial.reason, "did not start within 0.2 s");
}

}  // namespace test_trial
}  // namespace assay
