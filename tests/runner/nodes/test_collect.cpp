// Collecting over ranks that are threads: what arrives damaged, paths that lead away, and what may
// take the place of an earlier folder. tests/scripts/test_collect.py has real ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "runner/nodes/collect.hpp"
#include "runner/nodes/mail.hpp"
#include "runner/nodes/node_files.hpp"
#include "runner/nodes/node_folder.hpp"
#include "runner/supervision/run_folder.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_collect {

namespace fs = std::filesystem;
using namespace collecting;
using testing_fakes::on_threads;

void put(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class CollectTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(out_); }
  void TearDown() override { fs::remove_all(folder_); }

  /// Each rank is on a node of its own, "threads0", "threads1", …
  std::vector<Collection> collect_on(int ranks, bool prepare = false, int ranks_per_node = 1) {
    std::vector<Collection> made(static_cast<std::size_t>(ranks));
    on_threads(
        ranks,
        [&](Communicator& rank) {
          made[static_cast<std::size_t>(rank.rank())] =
              collect(rank, {local_, out_, prepare, prepare});
        },
        ranks_per_node);
    return made;
  }

  fs::path folder_ = fs::temp_directory_path() / ("assay-collect-" + std::to_string(::getpid()));
  fs::path local_ = folder_ / "local", out_ = folder_ / "out";
};

TEST_F(CollectTest, AFolderThatCannotBeReadCostsItsNodeAlone) {
  for (const char* host : {"threads0", "threads1", "threads2"})
    put(local_ / host / "journal.jsonl", "0\n");
  fs::create_directories(out_ / "threads1");
  fs::create_symlink("journal.jsonl", out_ / "threads1" / "journal.jsonl");  // leads to itself
  const auto made = collect_on(3);
  EXPECT_EQ(made.front().code, ExitCode::failed);
  EXPECT_NE(made.front().lines.front().find("not collected: threads1"), std::string::npos)
      << made.front().lines.front();
  for (const char* host : {"threads0", "threads2"})
    EXPECT_EQ(content_of(out_ / host / "journal.jsonl"), "0\n");
}

TEST_F(CollectTest, EveryRankEndsWithTheSameCode) {
  put(local_ / "threads0" / "journal.jsonl", "0\n");
  put(local_ / "threads2" / "log" / "deep" / "a.txt", std::string(most_message_bytes + 1, 'x'));
  for (const Collection& made : collect_on(3)) EXPECT_EQ(made.code, ExitCode::failed);
  EXPECT_EQ(content_of(out_ / "threads0" / "journal.jsonl"), "0\n");
  EXPECT_EQ(content_of(out_ / "threads2" / "log" / "deep" / "a.txt").size(),
            most_message_bytes + 1);
  EXPECT_FALSE(fs::exists(out_ / "threads1"));
  put(local_ / "threads1" / "journal.jsonl", "1\n");
  for (const Collection& made : collect_on(3)) EXPECT_EQ(made.code, ExitCode::ok);
}

TEST_F(CollectTest, RanksOfOneHostAreRefused) {
  put(local_ / "threads0" / "journal.jsonl", "0\n");
  const std::vector<Collection> made = collect_on(3, false, 2);
  for (const Collection& each : made) EXPECT_EQ(each.code, ExitCode::usage);
  ASSERT_EQ(made[0].lines.size(), 1U);
  EXPECT_NE(made[0].lines[0].find("ranks 0, 1 are on one host"), std::string::npos);
  EXPECT_TRUE(made[1].lines.empty()) << "one rank tells it";
  EXPECT_FALSE(fs::exists(out_ / "threads0"));
}

TEST_F(CollectTest, PreparingWritesNothingAndForgetsTheEndOfAnEarlierRun) {
  put(local_ / "threads1" / "journal.jsonl", "1\n");
  put(local_ / "threads1" / "end.txt", "ended\n");
  for (const Collection& made : collect_on(2, true)) EXPECT_EQ(made.code, ExitCode::ok);
  EXPECT_FALSE(fs::exists(local_ / "threads1" / "end.txt"));
  EXPECT_TRUE(fs::exists(local_ / "threads1" / "journal.jsonl"));
  EXPECT_FALSE(fs::exists(out_ / "threads1"));
}

TEST_F(CollectTest, ALinkIsLeftOutAndTold) {
  put(local_ / "threads0" / "journal.jsonl", "0\n");
  fs::create_symlink("/etc/passwd", local_ / "threads0" / "link");
  const std::vector<Collection> made = collect_on(1);
  EXPECT_EQ(made[0].code, ExitCode::ok);
  EXPECT_FALSE(fs::exists(fs::symlink_status(out_ / "threads0" / "link")));
  EXPECT_NE(made[0].lines[0].find("left out on threads0: 1 links"), std::string::npos);
}

TEST_F(CollectTest, AnEarlierFolderComesBackWhereTheProcessDiedBetweenTwoNames) {
  put(out_ / staging_name / "old" / "threads0" / "journal.jsonl", "0\n");
  put(out_ / staging_name / "new" / "threads0" / "journal.jsonl", "0\n1\n");
  put(local_ / "threads0" / "journal.jsonl", "another\n");
  EXPECT_EQ(collect_on(1)[0].code, ExitCode::failed) << "it is no continuation";
  EXPECT_EQ(content_of(out_ / "threads0" / "journal.jsonl"), "0\n");
}

TEST_F(CollectTest, ARunAtWorkIsKnownWithoutLocks) {
  const auto no_lock = [](int, int) {
    errno = ENOLCK;
    return -1;
  };
  fs::create_directories(local_);
  EXPECT_FALSE(is_at_work(local_, no_lock)) << "no run has been here";
  put(local_ / lock_name, "");
  EXPECT_FALSE(is_at_work(local_, no_lock)) << "the run has ended";
  put(local_ / held_by_name, holder_here());
  EXPECT_TRUE(is_at_work(local_, no_lock));
  put(local_ / held_by_name, "process 7 on elsewhere\n");
  EXPECT_TRUE(is_at_work(local_, no_lock)) << "nobody knows here";
  std::string killed = holder_here();
  put(local_ / held_by_name, killed.insert(killed.size() - 1, "0"));  // at another time
  EXPECT_FALSE(is_at_work(local_, no_lock));
}

/// A transport that damages one byte of what it receives.
class Damaging final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    last_ = data;
    return under().receive(data, from, tag, stream);
  }
  void wait(Request& request) override {
    under().wait(request);
    constexpr std::int64_t head = 24;
    if (last_.count > head) static_cast<char*>(last_.data)[last_.count / 2] ^= 1;
  }

 private:
  Buffer last_;
};

TEST(Mail, AByteThatChangesOnItsWayIsFound) {
  const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  Mail mail(*ranks);
  const std::string text(100, 'x');
  mail.send(0, {Kind::data, text});
  const Message message = mail.receive(0);
  EXPECT_EQ(message.kind, Kind::data);
  EXPECT_EQ(message.bytes, text);
  Damaging damaging(*ranks);
  Mail damaged(damaging);
  damaged.send(0, {Kind::data, text});
  EXPECT_THROW(damaged.receive(0), CaseError);
}

TEST(NodeFiles, APathThatLeadsOutOfTheFolderIsRefused) {
  EXPECT_EQ(parse_file_head(to_text(FileHead{"log/a b.txt", 3, -5})).path, "log/a b.txt");
  EXPECT_EQ(parse_file_head(to_text(FileHead{"log/a b.txt", 3, -5})).modified, -5);
  for (const char* path : {"../x", "/etc/x", "a/../../x", "a//b", "", ".", "a/."})
    EXPECT_THROW(parse_file_head(to_text(FileHead{path, 3, 0})), CaseError) << path;
  EXPECT_THROW(parse_file_head("3"), CaseError);
  EXPECT_THROW(parse_file_head("-3 0 x"), CaseError);
}

TEST(NodeFiles, NamesOfHostsThatMayBeFolders) {
  for (const char* host : {"n1", "cn-0_3.cluster.example", "A64"})
    EXPECT_EQ(why_not_folder_name(host), "") << host;
  for (const char* host : {"", ".", "..", "../x", "/x", "a/b", ".n", "-n", "a b", "a\nb", "\xff"})
    EXPECT_NE(why_not_folder_name(host), "") << host;
}

}  // namespace test_collect
}  // namespace assay
