// The parts of `assay run` that need no benchmark: processes, the followed journal, orders, the
// file made of a journal.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/standard_streams.hpp"
#include "core/machine/environment.hpp"
#include "core/result/journal.hpp"
#include "core/result/schema.hpp"
#include "runner/run/benchmark_processes.hpp"
#include "runner/run/campaign.hpp"
#include "runner/run/progress.hpp"
#include "runner/run/result_file.hpp"
#include "runner/run/run_plan.hpp"
#include "runner/run/run_record.hpp"
#include "runner/supervision/child.hpp"
#include "tests/support/rows.hpp"

namespace test_run_parts {

using namespace assay;
namespace fs = std::filesystem;
using nlohmann::json;

class RunParts : public testing::Test {
 protected:
  RunParts() { fs::create_directories(folder_); }
  ~RunParts() override { fs::remove_all(folder_); }
  /// Starts a shell and waits for its end.
  ProcessEnd shell(const std::string& script) {
    Child child({"/bin/sh", "-c", script}, folder_ / "out", folder_ / "err");
    while (!child.poll()) wait_for_signal(std::chrono::milliseconds(20));
    return *child.poll();
  }
  fs::path folder_ = fs::temp_directory_path() / ("assay-run-parts-" + std::to_string(getpid()));
};

TEST_F(RunParts, HowAChildEndedIsTold) {
  EXPECT_EQ(shell("exit 3").text(), "ended with exit code 3");
  EXPECT_EQ(shell("kill -SEGV $$").text(), "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(shell("kill -ABRT $$").text(), "killed by signal 6 (Aborted)");
}

TEST_F(RunParts, StreamsGoToFiles) {
  shell("echo one; echo two >&2; cat");  // stdin is empty, or this would never end
  EXPECT_EQ(read_tail(folder_ / "out"), "one");
  EXPECT_EQ(read_tail(folder_ / "err"), "two");
}

TEST_F(RunParts, ALogThatIsTooLongKeepsItsBeginningAndItsEnd) {
  shell(
      "echo first words >&2; head -c 100000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last "
      "words "
      ">&2");
  EXPECT_LE(fs::file_size(folder_ / "err"), static_cast<std::uintmax_t>(most_log_bytes));
  std::ifstream log(folder_ / "err");
  std::string first;
  std::getline(log, first);
  EXPECT_EQ(first, "first words");
  EXPECT_EQ(read_tail(folder_ / "err"), "... last words");
  const std::string all{std::istreambuf_iterator<char>(log), {}};
  EXPECT_NE(all.find("bytes were cut out here"), std::string::npos);
}

TEST_F(RunParts, ALogThatIsTooLongIsFreedWhileItsProcessRuns) {
  Child child(
      {"/bin/sh", "-c", "head -c 100000000 /dev/zero | tr '\\0' x; echo all >&2; exec sleep 1000"},
      folder_ / "out", folder_ / "err");
  while (read_tail(folder_ / "err") != "all") wait_for_signal(std::chrono::milliseconds(10));
  child.poll();
  struct stat state {};
  ASSERT_EQ(stat((folder_ / "out").c_str(), &state), 0);
  EXPECT_LE(state.st_blocks * 512, most_log_bytes);
}

TEST_F(RunParts, ALogOfUsualLengthIsWhole) {
  shell("head -c 1000000 /dev/zero | tr '\\0' x >&2");
  EXPECT_EQ(fs::file_size(folder_ / "err"), 1000000u);
}

TEST_F(RunParts, TailsDoNotQuoteThatRanksWereEnded) {
  std::ofstream(folder_ / "t") << "rank 1 on a: MPI_Test: truncated\nrank 0 on a: "
                               << ended_by_signal << "\n";
  EXPECT_EQ(read_tail(folder_ / "t"), "rank 1 on a: MPI_Test: truncated");
}

TEST_F(RunParts, TailsQuoteALineThatAnMpiLibraryRepeatsOnce) {
  std::ofstream log(folder_ / "t");
  log << "epoch 3: loss 0.5\n";
  for (int i = 0; i < 100; ++i)
    log << "[vm:" << 100 + i % 3 << "] Read -1, expected " << 4096 * i << ", errno = 3\n";
  log << "the end\n" << std::flush;
  EXPECT_EQ(read_tail(folder_ / "t"),
            "epoch 3: loss 0.5; [vm:100] Read -1, expected 405504, errno = 3; the end");
}

TEST_F(RunParts, WhatCannotBeStartedIsAnInputError) {
  EXPECT_THROW(Child({"/nonexistent/program"}, folder_ / "o", folder_ / "e"), InputError);
  EXPECT_THROW(Child({"/bin/true"}, folder_ / "no" / "such" / "o", folder_ / "e"), InputError);
}

bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  return !text.empty() && text.find(") Z") == std::string::npos;
}

TEST_F(RunParts, KillReachesTheGroupAndWhoLeftIt) {
  prepare_parent();
  // One grandchild in the group, one in a session of its own (a launcher's rank).
  Child child({"/bin/sh", "-c", "sleep 1000 & echo $!; setsid sleep 1000 & wait"}, folder_ / "out",
              folder_ / "err");
  const auto started = [&] {
    std::ifstream children("/proc/" + std::to_string(child.pid()) + "/task/" +
                           std::to_string(child.pid()) + "/children");
    return std::vector<pid_t>{std::istream_iterator<pid_t>(children),
                              std::istream_iterator<pid_t>()};
  };
  while (started().size() < 2 && !child.poll()) wait_for_signal(std::chrono::milliseconds(10));
  const std::vector<pid_t> all = started();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(child.kill(std::chrono::milliseconds(0)).signalled);
  for (const pid_t pid : all) EXPECT_FALSE(alive(pid)) << pid;
}

TEST_F(RunParts, GraceLetsALauncherEndItself) {
  prepare_parent();
  Child child({"/bin/sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"},
              folder_ / "out", folder_ / "err");
  while (read_tail(folder_ / "out") != "ready") wait_for_signal(std::chrono::milliseconds(10));
  const ProcessEnd ended = child.kill(std::chrono::milliseconds(60000));
  EXPECT_FALSE(ended.signalled);
  EXPECT_EQ(ended.code, 9);
}

TEST_F(RunParts, TailsAreCutAtAWordAndAreAscii) {
  std::ofstream(folder_ / "t") << std::string(1000, 'a')
                               << " the end\n\nof \x1b[31mit \xc3\xa4\n\n";
  EXPECT_EQ(read_tail(folder_ / "t", 30), "... the end; of ?[31mit ??");
  EXPECT_EQ(read_tail(folder_ / "absent"), "");
}

TEST_F(RunParts, TailsBeginBehindTheCaseBeforeWhereverTheyAreCut) {
  std::ofstream(folder_ / "t") << "one said\nend of a" << end_of_case << "\ntwo said\nend of some b"
                               << end_of_case << "\nthree\nsaid\n";
  for (std::size_t bytes = 13; bytes < 100; ++bytes)
    EXPECT_EQ(read_tail(folder_ / "t", bytes), "three; said") << bytes;
  EXPECT_EQ(read_tail(folder_ / "t", 8), "... said");
  std::ofstream(folder_ / "t", std::ios::app) << "end of c" << end_of_case << "\n";
  EXPECT_EQ(read_tail(folder_ / "t"), "");
}

TEST_F(RunParts, FollowerSeesWholeEventsOnceWhereverTheWritesAreCut) {
  const fs::path whole = folder_ / "whole";
  Journal journal(whole);
  for (const json& event :
       {json{{"event", "begin"}, {"id", "a"}}, json{{"event", "end"}}, json{{"event", "row"}}})
    journal.append(event);
  const std::string text = read_text_file(whole);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const fs::path file = folder_ / "j";
    std::ofstream(file) << "{\"event\":\"earlier\"}\n";
    JournalFollower follower(file);
    EXPECT_TRUE(follower.poll().empty());
    std::vector<json> events;
    auto take = [&](std::string part) {
      std::ofstream(file, std::ios::app) << part;
      for (json& event : follower.poll()) events.push_back(std::move(event));
    };
    take(text.substr(0, cut));
    take(text.substr(cut));
    ASSERT_EQ(events.size(), 3u) << cut;
    EXPECT_EQ(events[0].at("id"), "a");
    EXPECT_EQ(events[2].at("event"), "row");
  }
}

TEST(Orders, ArePermutationsThatDependOnSeedLaunchAndPlaceAlone) {
  std::set<std::vector<std::size_t>> seen;
  for (std::uint64_t seed : {0ull, 1ull, 2ull, ~0ull})
    for (int launch = 0; launch < 5; ++launch)
      for (int place = 0; place < 3; ++place) {
        auto order = draw_random_order(20, seed, launch, place);
        EXPECT_EQ(order, draw_random_order(20, seed, launch, place));
        seen.insert(order);
        std::sort(order.begin(), order.end());
        for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
      }
  EXPECT_EQ(seen.size(), 60u);  // of 20! orders: equal ones would show a key that is lost
  EXPECT_TRUE(draw_random_order(0, 1, 0, 0).empty());
}

TEST(Processes, AreOneForEachValueOfWhatAProcessHasOneOf) {
  PlannedBenchmark benchmark{.name = "gemm", .executable = "assay-gemm", .cases = {}};
  for (const char* blas : {"auto", "liba.so", "libb.so"})
    for (const char* threads : {"1", "2"}) {
      Case& made = benchmark.cases.emplace_back();
      made.id = std::string(blas) + threads;
      made.settings = {{"blas", blas}, {"threads", threads}, {"allocator", "system"}};
      made.one_per_process = {"blas", "allocator"};
    }
  std::set<std::string> ids;
  const std::vector<PlannedBenchmark> parts = by_process(benchmark, "unused");
  EXPECT_EQ(parts.size(), 3u);
  for (const PlannedBenchmark& part : parts) {
    EXPECT_EQ(part.name, "gemm");
    EXPECT_TRUE(part.preload.empty());
    ASSERT_EQ(part.cases.size(), 2u);
    EXPECT_EQ(part.cases[0].settings.at("blas"), part.cases[1].settings.at("blas"));
    for (const Case& planned : part.cases) ids.insert(planned.id);
  }
  EXPECT_EQ(ids.size(), benchmark.cases.size());
  for (Case& made : benchmark.cases) made.one_per_process = {"allocator"};
  EXPECT_EQ(by_process(benchmark, "unused").size(), 1u);
  benchmark.cases.clear();
  EXPECT_TRUE(by_process(benchmark, "unused").empty());
}

TEST(Collect, EnvironmentsAreThoseOfTheProcessesThatMadeTheRows) {
  auto environment = [](const std::string& host) {
    return json{{"host", host},
                {"hardware", json::object()},
                {"software", json::object()},
                {"volatile", json::object()},
                {"hashes", {{"hardware", "h"}, {"software", "s"}}}};
  };
  auto launch = [&](int n, int attempt, const std::string& host) {
    return json{{"event", "launch"},
                {"benchmark", "conv"},
                {"launch", n},
                {"attempt", attempt},
                {"environment", environment(host)}};
  };
  auto row = [](json entry) { return json{{"event", "row"}, {"row", std::move(entry)}}; };
  std::vector<json> events{
      {{"event", "run"},
       {"id", "x"},
       {"suite", "s"},
       {"command", "c"},
       {"seed", 7},
       {"scale", "1/16"},
       {"allocator", "jemalloc"},
       {"launcher", json::array()},
       {"baselines", {"summit"}},
       {"started", format_utc_now()},
       {"environment", environment("parent")}},
      launch(0, 0, "first"),
      row(test::row("ok", 1e-3, 0)),
      launch(1, 0, "second"),
      row(test::row("failed", 0, 1)),
      launch(1, 1, "third"),
      row(test::row("ok", 1e-3, 1, {{"cache", "cold"}}, 1)),
      row(test::row("failed", 0, 2)),  // of a process that never told its environment
      row(test::row("ok", 5e-3, 0)),   // a second row of one launch: the first counts
  };
  const RunResult result = make_run_result(make_record(events), {});
  std::vector<std::string> hosts;
  for (const Row& made : result.rows) hosts.push_back(result.environment(made).host);
  EXPECT_EQ(hosts, (std::vector<std::string>{"first", "second", "third", "parent"}));
  EXPECT_EQ(result.run.seed, 7U);
  // `assay job` compares the result of its job with them.
  EXPECT_EQ(result.run.settings->baselines, std::vector<std::string>{"summit"});
  // Without them the ids of a scaled suite could not be run again from its result.
  EXPECT_EQ(result.run.scale, "1/16");
  EXPECT_EQ(result.run.allocator, "jemalloc");
  EXPECT_EQ(find_schema_errors(result, "result", "made"), std::vector<std::string>{});
  events.erase(events.begin());
  EXPECT_THROW(make_run_result(make_record(events), {}), InputError);
}

/// The rows of these events that count.
std::vector<json> rows_in(const std::vector<json>& events) {
  std::vector<json> rows;
  for (const RecordedRow& recorded : make_record(events).rows) rows.push_back(recorded.row);
  return rows;
}

TEST(AbandonedAttempt, RowsThatCameTooLateDoNotCountWhereverTheEventStands) {
  const auto row = [](const std::string& status, int launch, const char* cache, int attempt) {
    return json{{"event", "row"},
                {"row", test::row(status, 1e-3, launch, {{"cache", cache}}, attempt)}};
  };
  const std::string benchmark = row("ok", 0, "a", 0)["row"]["benchmark"];
  const json event = make_abandoned_event({benchmark, 0, 1}, 1);
  const std::vector<json> counted{row("ok", 0, "a", 0), row("ok", 0, "b", 1), row("ok", 1, "b", 1),
                                  row("timeout", 0, "c", 1), row("ok", 0, "d", 2)};
  for (std::size_t place = 0; place < 6; ++place) {
    std::vector<json> events = counted;
    // The rows are those of the case that was open, and of the next one.
    const std::vector<json> late{row("ok", 0, "c", 1), row("failed", 0, "d", 1)};
    events.insert(events.begin() + 2, late.begin(), late.end());
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(place), event);
    EXPECT_EQ(rows_in(events), rows_in(counted)) << place;
    EXPECT_EQ(rows_in(events).size(), counted.size()) << place;
  }
  EXPECT_EQ(rows_in({make_abandoned_event({"other", 0, 1}, 0), counted[1]}).size(), 1u);
  EXPECT_EQ(rows_in({make_abandoned_event({benchmark, 0, 1}, 0), counted[1]}).size(), 0u);
}

TEST(Collect, AMissingBaselineIsNamedOnce) {
  const std::string name = list_baseline_names().front();
  json row = test::row("ok", 1e-3, 0);
  row["problem"]["descriptor"] = "of nobody";
  const std::vector<json> events{{{"event", "run"},
                                  {"id", "x"},
                                  {"started", format_utc_now()},
                                  {"environment", capture_environment()}},
                                 {{"event", "row"}, {"row", row}}};
  const Baseline baseline = Baseline::load(name);
  const RunResult result = make_run_result(make_record(events), {baseline, baseline});
  const std::string reason = result.rows.at(0).baseline_reason;
  const std::size_t first = reason.find(baseline.system());
  EXPECT_NE(first, std::string::npos) << reason;
  EXPECT_EQ(reason.find(baseline.system(), first + 1), std::string::npos) << reason;
}

TEST(TimeLimit, IsTheSuitesUnlessOneIsGivenAndElseFollowsFromTheTimedSeconds) {
  RunPlan plan;
  const auto limit = [&](const json& timing, std::optional<double> given = {}) {
    plan.suite_settings = suite_settings({{"timing", timing}});
    set_timing(plan, given);
    return plan.campaign.timeout.count();
  };
  EXPECT_EQ(limit({{"max_time", 1}}), 60);
  EXPECT_EQ(limit({{"max_time", 5}}), 100);
  EXPECT_EQ(limit({{"max_time", 5}, {"timeout", 1200}}), 1200);
  EXPECT_EQ(limit({{"max_time", 5}, {"timeout", 1200}}, 7), 7);
  plan.timing.max_time = 30;  // the command line's
  EXPECT_EQ(limit({{"max_time", 5}}), 600);
}

TEST(Progress, TellsTheIntervalOrThatThereIsNone) {
  const auto told = [](const json& row) {
    Progress progress(0, 1);
    testing::internal::CaptureStderr();
    progress.row(row);
    return testing::internal::GetCapturedStderr();
  };
  json row = test::row("ok", 2e-3);
  EXPECT_NE(told(row).find(" %)"), std::string::npos) << told(row);
  EXPECT_EQ(told(row).find("2.00 ms!"), std::string::npos) << told(row);
  row["time_s"]["ci95"] = nullptr;
  row["time_s"]["n"] = 1;
  row["time_s"]["stolen"] = 0.5;
  EXPECT_NE(told(row).find("2.00 ms! (n=1, no interval)"), std::string::npos) << told(row);
}

TEST(Progress, TimeLeft) {
  EXPECT_EQ(time_left(10, 0, 5), "");
  EXPECT_EQ(time_left(10, 10, 0), "");
  EXPECT_EQ(time_left(10, 10, 30), "~30 s left");
  EXPECT_EQ(time_left(60, 10, 30), "~3 min left");
  EXPECT_EQ(time_left(3600, 1, 2), "~2.0 h left");
}

}  // namespace test_run_parts
