#include "core/machine/contention.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "result_fixture.hpp"

namespace assay {
namespace test_contention {

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

/// The foreign work that a rank would report over so many processors.
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
  // Time that the hypervisor took was used by nobody of this machine.
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

TEST(Contention, OnlyProcessorsThatTheProcessMayUseCount) {
  const fixture::Folder folder;
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  // Processor 0 idles but for what this process does; another job fills processor 1, and a
  // hypervisor takes the half of it.
  const auto stat = [&](const char* name, double ticks) {
    const auto text = [&](const char* label, double idle, double stolen) {
      return fmt::format("{} 0 0 0 {:.0f} 0 0 0 {:.0f} 0 0\n", label, idle * ticks, stolen * ticks);
    };
    return folder.put(name,
                      text("cpu", 1, 0.5) + text("cpu0", 1, 0) + text("cpu1", 0, 0.5) + "intr 7\n");
  };
  Contention before = contention({stat("before", 0), {}}),
             after = contention({stat("after", 1000), {}});
  ASSERT_EQ(after.processors.size(), 2u);
  before.own = after.own = 0;
  const double seconds = 1000 * tick, step = 2 / 1000.0;
  const auto averages = [&](const std::set<int>& allowed) {
    Contention made = between(before, after, seconds);
    restrict_to(made, allowed);
    return made;
  };
  EXPECT_NEAR(*averages({0}).idle, 1 - step, 1e-9);
  EXPECT_NEAR(*averages({0}).stolen, 0, 1e-9);
  EXPECT_NEAR(*averages({1}).idle, 0, 1e-9);
  EXPECT_NEAR(*averages({1}).stolen, 0.5, 1e-9);
  // All processors, numbers of another machine (lxcfs), and an unknown mask: the whole machine.
  for (const std::set<int>& allowed : {std::set{0, 1}, std::set{1, 2}, std::set<int>{}}) {
    EXPECT_NEAR(*averages(allowed).idle, 1 - step, 1e-9);
    EXPECT_NEAR(*averages(allowed).stolen, 0.5, 1e-9);
  }
}

TEST(Contention, AQuotaThatIsUsedUpIsRead) {
  const fixture::Folder folder;
  const auto read = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> files;
    for (const std::string& text : texts)
      files.push_back(folder.put("cpu.stat" + std::to_string(files.size()), text));
    return contention({"/proc/stat", files});
  };
  const Contention before = read({"usage_usec 7\nnr_throttled 1\nthrottled_usec 1000000\n"}),
                   after = read({"usage_usec 9\nnr_throttled 6\nthrottled_usec 3000000\n"});
  EXPECT_DOUBLE_EQ(*between(before, after, 4).throttled, 0.5);
  // Version 1 counts in nanoseconds; the groups above limit this one, too.
  EXPECT_DOUBLE_EQ(
      *read({"nr_throttled 2\nthrottled_time 1500000000\n", "throttled_time 500000000\n"})
           .throttled,
      2);
  EXPECT_FALSE(read({"usage_usec 7\n"}).throttled);
  EXPECT_FALSE(contention({"/proc/stat", {"/nowhere/cpu.stat"}}).throttled);
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

}  // namespace test_contention
}  // namespace assay
