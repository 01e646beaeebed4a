// The progress of nodes, from the log in which a launcher collects what they print.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "runner/nodes/many_runs.hpp"
#include "runner/nodes/node_progress.hpp"
#include "runner/run/progress.hpp"

namespace assay {
namespace test_node_progress {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class NodeProgressTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void log(const std::string& text) { std::ofstream(file_, std::ios::app) << text; }
  fs::path folder_ = fs::temp_directory_path() / ("assay-progress-" + std::to_string(::getpid()));
  fs::path file_ = folder_ / "nodes.err.txt";
  NodeProgress::Clock::time_point now_ = NodeProgress::Clock::now();
};

TEST_F(NodeProgressTest, TellsTheLastLineOfEachNodeOnce) {
  NodeProgress progress(file_, {"n1", "n2"});
  EXPECT_EQ(progress.news(now_), "") << "there is no log yet";
  log("[n2] measuring\n");
  EXPECT_EQ(progress.news(now_ - 20s), "[n2] measuring\n");
  log("[n1 1/8] conv/a  1 s\nassay run: noise\n[1,0]<stderr>:[n2 3/8] conv/b  failed: why\n");
  EXPECT_EQ(progress.news(now_), "[n1 1/8] conv/a  1 s\n[n2 3/8] conv/b  failed: why\n");
  log("[n1 2/8] conv/c  2 s\n[n1 3/8] conv/d  3 s\n");
  EXPECT_EQ(progress.news(now_ + 9s), "") << "not before the interval is over";
  EXPECT_EQ(progress.news(now_ + 10s), "[n1 3/8] conv/d  3 s\n") << "the other has not changed";
  log("[n2 8/8] conv/z");
  EXPECT_EQ(progress.news(now_ + 30s), "") << "the line is not complete";
  log("  4 s\n");
  EXPECT_EQ(progress.news(now_ + 30s, true), "[n2 8/8] conv/z  4 s\n");
  EXPECT_EQ(progress.news(now_ + 60s, true), "");
}

TEST_F(NodeProgressTest, WhatIsNoProgressOfANodeIsNotTold) {
  NodeProgress progress(file_, {"n1"});
  log("[n3 1/8] conv/a\n[n3] x\n[n1 a/8] x\n[n1 1/0] x\n[n1 1/8 x\n[]\n[n1 \n[n1 1/8] \x1b[31m\n");
  EXPECT_EQ(progress.news(now_), "[n1 1/8] \uFFFD[31m\n");
}

TEST_F(NodeProgressTest, ManyNodesAreAFewLines) {
  std::set<std::string> names;
  std::string text;
  for (int i = 100; i < 200; ++i) {
    names.insert("n" + std::to_string(i));
    text += "[n" + std::to_string(i) + " " + std::to_string(i - 99) + "/100] conv/x  1 s\n";
  }
  NodeProgress progress(file_, names);
  log(text);
  const std::string news = progress.news(now_);
  EXPECT_EQ(std::count(news.begin(), news.end(), '\n'), 17) << news;
  EXPECT_TRUE(news.ends_with("and 84 more nodes: 17 to 100 of 100 rows\n")) << news;
  // The others have their turn, although the first ones have news again.
  log(text);
  const std::string next = progress.news(now_ + 10s);
  EXPECT_TRUE(next.starts_with("[n116 17/100]")) << next;
  EXPECT_EQ(std::count(next.begin(), next.end(), '\n'), 17) << next;
}

TEST_F(NodeProgressTest, NodesBeforeTheirFirstRowHaveNoNumbers) {
  std::set<std::string> names;
  std::string text;
  for (int i = 10; i < 27; ++i) {
    names.insert("n" + std::to_string(i));
    text += "[n" + std::to_string(i) + "] measuring\n";
  }
  NodeProgress progress(file_, names);
  log(text);
  const std::string news = progress.news(now_);
  EXPECT_TRUE(news.ends_with("[n25] measuring\nand 1 more node\n")) << news;
}

TEST_F(NodeProgressTest, ALogThatWasCutIsReadFromItsNewEnd) {
  NodeProgress progress(file_, {"n1"});
  log("[n1 1/8] conv/a  1 s, and more\n");
  progress.news(now_);
  fs::resize_file(file_, 3);
  EXPECT_EQ(progress.news(now_ + 10s), "");
  log("\n[n1 2/8] conv/b\n");
  EXPECT_EQ(progress.news(now_ + 20s), "[n1 2/8] conv/b\n");
}

TEST_F(NodeProgressTest, ARunIsWatchedWhileItRuns) {
  int calls = 0;
  run_logged({"sleep", "0.5"}, folder_, "sleep", {}, [&] { ++calls; });
  EXPECT_GE(calls, 2);
}

TEST_F(NodeProgressTest, OnlyAJournalBelowIsARunToContinue) {
  EXPECT_FALSE(any_run_below(folder_ / "none"));
  fs::create_directories(folder_ / "n1");
  EXPECT_FALSE(any_run_below(folder_));
  const fs::path journal = folder_ / "n1" / "journal.jsonl";
  std::ofstream(journal) << "{\"event\":\"run\"}\n";
  EXPECT_FALSE(any_run_below(folder_));
  EXPECT_FALSE(fs::exists(journal)) << "it would only be in the way of the same command";
  std::ofstream(journal) << "{\"event\":\"run\"}\n{\"event\":\"row\",\"id\"";
  EXPECT_TRUE(any_run_below(folder_));
  EXPECT_TRUE(fs::exists(journal));
}

TEST(Progress, AnErrorAboveTheTimeItselfIsNoNumber) {
  EXPECT_EQ(format_spread(1.04), " (±1.0 %)");
  EXPECT_EQ(format_spread(100), " (±100.0 %)");
  EXPECT_EQ(format_spread(1039), " (not steady)");
}

}  // namespace test_node_progress
}  // namespace assay
