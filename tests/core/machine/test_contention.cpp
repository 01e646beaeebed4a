#include "core/machine/contention.hpp"

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

Contention average(double waiting, double idle, double own) {
  Contention made{waiting, 0};
  made.idle = idle;
  made.own = own;
  return made;
}

/// What a rank would say over so many processors.
double foreign(const std::vector<Contention>& ranks, double processors) {
  return *foreign_work(ranks, processors);
}

TEST(Contention, WhatTheJobUsesItselfIsNotForeign) {
  // Two processors, both busy, by helper threads of this process alone.
  EXPECT_NEAR(foreign({average(1, 0, 2)}, 2), 0, 1e-12);
  // The same by four ranks.
  EXPECT_NEAR(
      foreign({average(1, 0, 0.5), average(1, 0, 0.5), average(1, 0, 0.5), average(1, 0, 0.5)}, 2),
      0, 1e-12);
  // Half of one is somebody else's.
  EXPECT_NEAR(foreign({average(0.5, 0, 1.5)}, 2), 0.5, 1e-12);
  EXPECT_NEAR(foreign({average(0, 1, 1)}, 2), 0, 1e-12);
  // What the hypervisor took nobody of this machine had.
  Contention taken = average(0, 0, 1.75);
  taken.stolen = 0.25;
  EXPECT_NEAR(foreign({taken}, 2), 0, 1e-12);
}

TEST(Contention, ForeignWorkIsUnknownWhereARankCannotTell) {
  EXPECT_FALSE(foreign_work({Contention{1, 0}}, 2));
  EXPECT_FALSE(foreign_work({average(1, 0, 1), Contention{1, 0}}, 2));
  EXPECT_FALSE(foreign_work({average(1, 0, 1)}, 0));
}

TEST(Contention, IdleTimeIsCountedInStepsAndErrsToTheForeignSide) {
  Contention before, after;
  before.idle = 10, before.own = 1;
  after.idle = 20, after.own = 5;
  const Contention over = between(before, after, 10);
  EXPECT_DOUBLE_EQ(*over.own, 0.4);
  EXPECT_LT(*over.idle, 1);
  EXPECT_GT(*over.idle, 0.99);
  // A region shorter than the steps: none of it was surely idle.
  after.idle = 10.01;
  EXPECT_DOUBLE_EQ(*between(before, after, 0.005).idle, 0);
}

TEST(Contention, OwnWorkGrowsWithOwnWork) {
  const Contention before = contention();
  spin(0.02);
  EXPECT_GE(*contention().own - *before.own, 0.019);
}

TEST(Contention, TwoThreadsOnOneProcessorWait) {
  const Contention before = contention();
  // A kernel without schedstat: unknown is then the right answer, and the only one.
  ASSERT_EQ(before.waiting.has_value(), std::filesystem::exists("/proc/self/schedstat"));
  if (!before.waiting) GTEST_SKIP() << "this kernel has no schedstat";
  cpu_set_t old, processors;
  ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
  CPU_ZERO(&processors);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &old)) {
      CPU_SET(cpu, &processors);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof processors, &processors), 0);
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
