#include "core/contention.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <ctime>
#include <filesystem>
#include <thread>

namespace assay {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void spin(double seconds) {
  const double end = thread_seconds() + seconds;
  while (thread_seconds() < end) {
  }
}

TEST(Contention, AveragesAreDifferencesOverTime) {
  const Contention before{1.0, 10.0}, after{3.0, 10.5};
  const Contention average = between(before, after, 4);
  EXPECT_DOUBLE_EQ(*average.waiting, 0.5);
  EXPECT_DOUBLE_EQ(*average.stolen, 0.125);
}

TEST(Contention, UnknownStaysUnknown) {
  EXPECT_FALSE(between({std::nullopt, 1}, {2, 2}, 1).waiting);
  EXPECT_FALSE(between({1, std::nullopt}, {2, 2}, 1).stolen);
  EXPECT_FALSE(between({1, 1}, {2, 2}, 0).waiting);
}

TEST(Contention, AThreadThatEndedIsNoNegativeTime) {
  EXPECT_DOUBLE_EQ(*between({2, 1}, {1, 1}, 1).waiting, 0);
}

TEST(Contention, TwoThreadsOnOneProcessorWait) {
  const Contention before = contention();
  // A kernel without schedstat: unknown is then the right answer, and the only one.
  ASSERT_EQ(before.waiting.has_value(), std::filesystem::exists("/proc/self/schedstat"));
  if (!before.waiting) GTEST_SKIP() << "this kernel has no schedstat";
  cpu_set_t old, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &old)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  double waited = 0;
  {
    // Both spin 0.1 s of processor time on the one processor: whoever ends last has waited for the
    // other.
    std::jthread other([] { spin(0.1); });
    spin(0.1);
    other.join();
    waited = *contention().waiting - *before.waiting;
  }
  sched_setaffinity(0, sizeof old, &old);
  EXPECT_GT(waited, 0.05);
}

}  // namespace
}  // namespace assay
