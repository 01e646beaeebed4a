#include "models/input/stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "models/input/stage_source.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/input/staged_sets.hpp"

namespace assay {
namespace test_stage {

namespace fs = std::filesystem;
using testing_fakes::on_threads;

constexpr std::int64_t piece = 1000;

std::string staged_file(const Folder& folder, int node, int file) {
  return folder / ("node" + std::to_string(node) + "/x-" + std::to_string(file) + ".tfrecord");
}

StagedSet stage_here(const Folder& folder, Communicator& ranks) {
  return stage(folder / "shared", folder / "node{node}", {.cold = false, .piece = piece}, ranks);
}

void expect_staged(const Folder& folder, int nodes) {
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < static_cast<int>(std::size(stage_sizes)); ++i)
      EXPECT_EQ(content_of(staged_file(folder, node, i)), stage_content(i, stage_sizes[i]))
          << node << " " << i;
}

TEST(Stage, EachFileIsReadOnceAndIsOnEveryNode) {
  for (const auto& [nodes, each] : {std::pair(1, 1), {1, 3}, {2, 1}, {2, 2}, {3, 2}, {9, 1}}) {
    const Folder folder;
    write_stage_set(folder);
    on_threads(
        nodes * each,
        [&, count = nodes](Communicator& ranks) {
          const StagedSet staged = stage_here(folder, ranks);
          const StagingCost& cost = staged.cost;
          EXPECT_EQ(staged.data, folder / ("node" + std::to_string(ranks.node())));
          EXPECT_EQ(staged.names.size(), std::size(stage_sizes));
          EXPECT_EQ(cost.nodes, count);
          EXPECT_EQ(cost.set_bytes, stage_sum);
          EXPECT_EQ(cost.staged_bytes, stage_sum);
          EXPECT_EQ(cost.read_bytes, stage_sum);  // by the kernel, exactly
          EXPECT_EQ(staging_read_ratio(cost), 1);
          EXPECT_EQ(cost.lacking_bytes, count * stage_sum);
          EXPECT_EQ(cost.kept_bytes, count * stage_sum);
          EXPECT_EQ(cost.passed_bytes, (count - 1) * stage_sum);
          EXPECT_EQ(find_fault_of_staging(cost), "");
          if (staged.kept != nullptr) {
            EXPECT_EQ(staged.kept->fault(), "");
          }
        },
        each);
    expect_staged(folder, nodes);
  }
}

TEST(Stage, OnlyWhatANodeLacksIsRead) {
  const Folder folder;
  write_stage_set(folder);
  const auto again = [&](double staged_bytes, double lacking_bytes, double replaced) {
    on_threads(
        2,
        [&](Communicator& ranks) {
          const StagingCost cost = stage_here(folder, ranks).cost;
          EXPECT_EQ(cost.staged_bytes, staged_bytes);
          EXPECT_EQ(cost.read_bytes, staged_bytes);
          EXPECT_EQ(cost.lacking_bytes, lacking_bytes);
          EXPECT_EQ(cost.kept_bytes, lacking_bytes);
          EXPECT_EQ(cost.replaced_files, replaced);
          EXPECT_EQ(find_fault_of_staging(cost), "");
        },
        1);
    expect_staged(folder, 2);
  };
  again(stage_sum, 2 * stage_sum, 0);
  again(0, 0, 0);
  fs::remove(staged_file(folder, 0, 0));
  fs::remove(staged_file(folder, 1, 0));
  flip_byte(staged_file(folder, 1, 5), 400);
  again(5000 + 1000, 5000 + 5000 + 1000, 3);
  // The shared file is another one of the same size.
  folder.write("shared/x-1.tfrecord", stage_content(1, 100));
  again(100, 200, 2);
}

TEST(Stage, FilesOfAPatternAndOfClasses) {
  const Folder folder;
  write_stage_set(folder);
  fs::create_directories(folder / "classes/b");
  fs::create_directories(folder / "classes/a");
  folder.write("classes/a/1.jpg", stage_content(1, 3000));
  folder.write("classes/b/2.png", stage_content(2, 10));
  folder.write("classes/b/notes.txt", "no image");
  const auto names = [&](const std::string& data, const std::string& to) {
    std::vector<std::string> found;
    on_threads(1, [&](Communicator& ranks) {
      const StagedSet staged = stage(folder / data, folder / to, {.piece = piece}, ranks);
      found = staged.names;
      found.push_back(staged.data);
    });
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("shared/x-[13]*", "p"),
            (Names{"x-1.tfrecord", "x-3.tfrecord", folder / "p/x-[13]*"}));
  EXPECT_EQ(names("shared/x-4", "q"), (Names{"x-4.tfrecord", folder / "q/x-4"}));
  EXPECT_EQ(names("shared/x-5.tfrecord", "r"), (Names{"x-5.tfrecord", folder / "r/x-5.tfrecord"}));
  EXPECT_EQ(names("classes/", "s"), (Names{"a/1.jpg", "b/2.png", folder / "s"}));
  EXPECT_EQ(content_of(folder / "s/a/1.jpg"), stage_content(1, 3000));
  EXPECT_FALSE(fs::exists(folder / "s/b/notes.txt"));
}

/// The message of the error that every rank gets.
template <class Error>
std::string told_to_all(int nodes, const std::string& data, const std::string& to,
                        const std::function<std::unique_ptr<Communicator>(Communicator&)>& over) {
  std::vector<std::string> told(static_cast<std::size_t>(nodes));
  on_threads(
      nodes,
      [&](Communicator& ranks) {
        const std::unique_ptr<Communicator> used = over(ranks);
        told[static_cast<std::size_t>(ranks.rank())] =
            message_of<Error>([&] { stage(data, to, {.piece = piece}, *used); });
      },
      1);
  for (const std::string& each : told) EXPECT_NE(each, "");
  return told.back();
}

/// A network that changes a byte of one chunk on its way to rank `to`.
class Flipping final : public ForwardingCommunicator {
 public:
  Flipping(Communicator& under, int to) : ForwardingCommunicator(under), send_to_(to) {}
  Flipping(std::unique_ptr<Communicator> own, int to)
      : ForwardingCommunicator(*own), own_(std::move(own)), send_to_(to) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<Flipping>(under().split(color, key), send_to_);
  }
  void run(const Call& call, Stream& stream) override {
    under().run(call, stream);
    if (call.what == Collective::broadcast && call.receive.type == DataType::s8 &&
        rank() == send_to_ && call.root != send_to_)
      static_cast<char*>(call.receive.data)[call.receive.count / 2] ^= 1;
  }

 private:
  std::unique_ptr<Communicator> own_;
  int send_to_;
};

const auto plainly = [](Communicator& ranks) -> std::unique_ptr<Communicator> {
  return std::make_unique<Flipping>(ranks, -1);
};

/// Notes which nodes pass chunks on, and the largest chunk.
class Noting final : public ForwardingCommunicator {
 public:
  struct Notes {
    std::mutex mutex;
    std::map<int, std::int64_t> passed;  ///< bytes, by node
    std::int64_t largest = 0;
  };
  Noting(Communicator& under, Notes& notes) : ForwardingCommunicator(under), notes_(notes) {}
  Noting(std::unique_ptr<Communicator> own, Notes& notes)
      : ForwardingCommunicator(*own), own_(std::move(own)), notes_(notes) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<Noting>(under().split(color, key), notes_);
  }
  void run(const Call& call, Stream& stream) override {
    under().run(call, stream);
    if (call.receive.type != DataType::s8 || call.root != rank()) return;
    const std::lock_guard lock(notes_.mutex);
    notes_.passed[rank()] += call.receive.count;
    notes_.largest = std::max(notes_.largest, call.receive.count);
  }

 private:
  std::unique_ptr<Communicator> own_;
  Notes& notes_;
};

TEST(Stage, AllNodesReadAndPassOnPieces) {
  const Folder folder;
  std::filesystem::create_directories(folder / "shared");
  for (int i = 0; i < 12; ++i)
    folder.write("shared/x-" + std::to_string(i) + ".tfrecord", stage_content(i, 2200));
  Noting::Notes notes;
  on_threads(
      4,
      [&](Communicator& ranks) {
        Noting noting(ranks, notes);
        stage_here(folder, noting);
      },
      1);
  EXPECT_EQ(notes.passed,
            (std::map<int, std::int64_t>{{0, 6600}, {1, 6600}, {2, 6600}, {3, 6600}}));
  EXPECT_EQ(notes.largest, piece);
}

TEST(Stage, AByteThatChangesOnItsWayIsFound) {
  const Folder folder;
  write_stage_set(folder);
  const std::string told = told_to_all<CaseError>(
      3, folder / "shared", folder / "node{node}",
      [](Communicator& ranks) { return std::make_unique<Flipping>(ranks, 1); });
  EXPECT_NE(told.find("rank 1 on threads1: --stage: bytes"), std::string::npos) << told;
  // Nothing wrong is kept, and the next run completes the set.
  on_threads(
      3, [&](Communicator& ranks) { stage_here(folder, ranks); }, 1);
  expect_staged(folder, 3);
}

TEST(Stage, NodesDoNotShareAFolder) {
  const Folder folder;
  write_stage_set(folder);
  const std::string told = told_to_all<InputError>(2, folder / "shared", folder / "one", plainly);
  EXPECT_NE(told.find("nodes 0 and 1 share this folder"), std::string::npos) << told;
  EXPECT_TRUE(fs::is_empty(folder / "one"));
  EXPECT_NE(told_to_all<InputError>(1, folder / "shared", folder / "shared", plainly)
                .find("is the folder of the set itself"),
            std::string::npos);
}

/// A link into the set is refused, too; and nothing is written into the set.
TEST(Stage, NoFolderLiesInTheSet) {
  const Folder folder;
  fs::create_directories(folder / "classes/a");
  folder.write("classes/a/1.jpg", stage_content(1, 3000));
  fs::create_directory_symlink(folder / "classes", folder / "link");
  fs::create_directories(folder / "beside");
  for (const char* to : {"classes/new/node{node}", "link/new", "beside/../classes/b/c"}) {
    const std::string told = told_to_all<InputError>(2, folder / "classes", folder / to, plainly);
    EXPECT_NE(told.find("lies in the folder of the set itself"), std::string::npos) << told;
  }
  EXPECT_NE(told_to_all<InputError>(1, folder / "link", folder / "classes/", plainly)
                .find("is the folder of the set itself"),
            std::string::npos);
  std::vector<std::string> there;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "classes"))
    there.push_back(entry.path().string());
  EXPECT_EQ(there.size(), 2);
  // A prefix names files, and a folder beside them is none.
  write_stage_set(folder);
  on_threads(1, [&](Communicator& ranks) {
    const StagedSet staged = stage(folder / "shared/x-", folder / "shared/new", {}, ranks);
    EXPECT_EQ(staged.names.size(), std::size(stage_sizes));
  });
}

TEST(Stage, ErrorsOfOneNodeAreThoseOfAll) {
  const Folder folder;
  write_stage_set(folder);
  EXPECT_NE(told_to_all<InputError>(2, folder / "none", folder / "node{node}", plainly)
                .find("no TFRecord"),
            std::string::npos);
  folder.write("node1", "a file");
  EXPECT_NE(told_to_all<InputError>(2, folder / "shared", folder / "node{node}", plainly)
                .find("node1: cannot be written"),
            std::string::npos);
  fs::remove(folder / "node1");
  const StageFolder held(folder / "node0", {});
  EXPECT_NE(told_to_all<InputError>(2, folder / "shared", folder / "node{node}", plainly)
                .find("another job has this folder"),
            std::string::npos);
}

TEST(Stage, AFileThatChangesWhileTheSetIsStagedIsFound) {
  const Folder folder;
  write_stage_set(folder);
  on_threads(1, [&](Communicator& ranks) {
    StageListing listing = list_stage_files(folder / "shared", ranks);
    ASSERT_EQ(listing.files.size(), std::size(stage_sizes));
    const StageChunk first = {{0, 0, piece}}, second = {{0, piece, 4000}}, other = {{1, 0, 100}};
    SharedReader reader(listing);
    reader.start(first).get();
    EXPECT_EQ(reader.read_bytes, piece);
    fs::resize_file(folder / "shared/x-0.tfrecord", 3000);
    EXPECT_NE(message_of<InputError>([&] { reader.start(second).get(); }).find("shorter"),
              std::string::npos);
    folder.write("shared/x-1.tfrecord", stage_content(2, 100));
    EXPECT_NE(message_of<InputError>([&] { reader.start(other).get(); }).find("has changed"),
              std::string::npos);
  });
}

TEST(Stage, PlaceholdersAreNumbersOfNodes) {
  EXPECT_EQ(name_stage_folder("/tmp/x", 3), "/tmp/x");
  EXPECT_EQ(name_stage_folder("/tmp/{node}/{node}x", 12), "/tmp/12/12x");
}

}  // namespace test_stage
}  // namespace assay
