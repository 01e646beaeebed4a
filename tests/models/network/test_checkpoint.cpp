#include "models/network/checkpoint.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <sstream>
#include <thread>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_checkpoint {

namespace fs = std::filesystem;
using fixture::Folder;
using fixture::in_child;
using fixture::message_of;
using nlohmann::json;

const std::string architecture = "resnet18w16s32c10";

/// The state that a run of a test keeps; another `step` has other numbers.
struct Training {
  explicit Training(int step, std::size_t count = 1000) : weights(count), velocity(count / 10) {
    std::iota(weights.begin(), weights.end(), static_cast<float>(step));
    std::iota(velocity.begin(), velocity.end(), -static_cast<float>(step));
    state = {{"step", step}, {"loss_scale", 1024.5}, {"rate", 0.1}, {"bad", {3, 17}}};
  }
  CheckpointCost write(const fs::path& file) const {
    const CheckpointBlob blobs[] = {{"weights", std::as_bytes(std::span(weights))},
                                    {"velocity", std::as_bytes(std::span(velocity))}};
    return write_checkpoint(file, architecture, state, blobs);
  }
  bool operator==(const Training&) const = default;
  json state;
  std::vector<float> weights, velocity;
};

Training read(const fs::path& file, std::size_t count = 1000) {
  const Checkpoint checkpoint(file, architecture);
  Training read(0, count);
  read.state = checkpoint.state();
  checkpoint.copy("weights", std::as_writable_bytes(std::span(read.weights)));
  checkpoint.copy("velocity", std::as_writable_bytes(std::span(read.velocity)));
  return read;
}

std::string refusal(const fs::path& file, const std::string& of = architecture) {
  return message_of([&] { Checkpoint(file, of); });
}

std::string content_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

/// The message when the disk does not take a checkpoint.
std::string failure(const fs::path& file, const Training& training) {
  try {
    training.write(file);
  } catch (const CaseError& error) {
    return error.what();
  }
  return "written";
}

TEST(Checkpoint, IsReadAsItWasWritten) {
  const Folder folder;
  const fs::path file = folder.path() / "new" / "run.ckpt";
  for (const int step : {3, 4}) {
    const CheckpointCost cost = Training(step).write(file);
    EXPECT_EQ(cost.bytes, static_cast<std::int64_t>(fs::file_size(file)));
    EXPECT_GT(cost.bytes, 4400);
    EXPECT_GT(cost.seconds, 0);
    EXPECT_EQ(read(file), Training(step));
    EXPECT_EQ(files_in(file.parent_path()), 1u);
  }
  const std::uint32_t before = Checkpoint(file, architecture).check();
  Training(4).write(file);
  EXPECT_EQ(Checkpoint(file, architecture).check(), before);
  Training(3).write(file);
  EXPECT_NE(Checkpoint(file, architecture).check(), before);
  write_checkpoint(file, architecture, {}, {});
  EXPECT_TRUE(Checkpoint(file, architecture).state().is_null());
}

TEST(Checkpoint, TheFormatIsThatOfTheHeader) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  const std::string digits = "123456789";
  const CheckpointBlob blob{"digits", std::as_bytes(std::span(digits))};
  write_checkpoint(file, "net", {{"step", 7}}, std::span(&blob, 1));
  const std::string content = content_of(file);
  EXPECT_TRUE(content.starts_with("ASSAYCKP"));
  EXPECT_TRUE(content.ends_with("}" + digits));
  const auto length = static_cast<unsigned char>(content[8]);
  const json header = json::parse(content.substr(20, length));
  EXPECT_EQ(20u + length + digits.size(), content.size());
  EXPECT_EQ(header.at("format"), 3);
  EXPECT_EQ(header.at("architecture"), "net");
  EXPECT_EQ(header.at("state"), (json{{"step", 7}}));
  EXPECT_EQ(header.at("blobs"),  // the check value of the polynomial
            json::parse(R"([{"name": "digits", "bytes": 9, "crc32c": 3808858755}])"));
}

/// An earlier program wrote it, whose state had other fields.
TEST(Checkpoint, AnEarlierFormatIsNamed) {
  const Folder folder;
  Training(3).write(folder.path() / "run.ckpt");
  std::string content = content_of(folder.path() / "run.ckpt");
  const std::string now = R"("format":3)";
  content.replace(content.find(now), now.size(), R"("format":2)");
  std::size_t length = 0;
  for (std::size_t i = 8; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(content[8 + i]);
  const std::string checked = content.substr(0, 16) + content.substr(20, length);
  const std::uint32_t check =
      crc32c({reinterpret_cast<const std::uint8_t*>(checked.data()), checked.size()});
  for (std::size_t i = 0; i < 4; ++i) content[16 + i] = static_cast<char>(check >> (8 * i) & 0xFF);
  EXPECT_SAYS(refusal(folder.put("earlier.ckpt", content)),
              "its format is 2, this program reads 3). Use the program that has written it.");
}

TEST(Checkpoint, DamageOfAnyByteIsFound) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  Training(3, 20).write(file);
  const std::string good = content_of(file);
  ASSERT_LT(good.size(), 1000u);
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      fs::remove(file);
      EXPECT_SAYS(refusal(folder.put("run.ckpt", bad)), "cannot be used as a checkpoint") << i;
    }
  fs::remove(file);
  EXPECT_EQ(refusal(folder.put("run.ckpt", good)), "accepted");
}

TEST(Checkpoint, EveryLengthButItsOwnIsRefused) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  Training(3, 20).write(file);
  const std::string good = content_of(file);
  for (std::size_t size = 0; size < good.size(); ++size) {
    fs::remove(file);
    EXPECT_SAYS(refusal(folder.put("run.ckpt", good.substr(0, size))),
                size == 0 ? "is empty" : "truncated");
  }
  fs::remove(file);
  EXPECT_SAYS(refusal(folder.put("run.ckpt", good + "x")), "1 bytes behind its end");
}

TEST(Checkpoint, WhatIsNoneOfThisRunIsRefused) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  EXPECT_SAYS(refusal(file), "No such file");
  EXPECT_SAYS(refusal(folder.path()), "is a folder");
  EXPECT_SAYS(refusal(folder.put("x.json", "{\"step\": 3, \"epoch\": 17}")), "does not begin with");
  Training(3).write(file);
  const std::string message = refusal(file, "resnet50w64s224c1000");
  EXPECT_SAYS(message, architecture);
  EXPECT_SAYS(message, "resnet50w64s224c1000");
  const Checkpoint checkpoint(file, architecture);
  std::vector<std::byte> bytes(4001);
  EXPECT_SAYS(message_of([&] { checkpoint.copy("weights", bytes); }),
              "weights has 4000 bytes, this run needs 4001");
  EXPECT_SAYS(message_of([&] { checkpoint.copy("moments", bytes); }), "no blob moments");
}

TEST(Checkpoint, AStateThatJsonCannotHoldIsAnError) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  Training(3).write(file);
  Training bad(4);
  bad.state["loss_scale"] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(bad.write(file), std::logic_error);
  EXPECT_EQ(read(file), Training(3));
}

TEST(Checkpoint, AFullDiskLeavesTheLastOne) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  Training(3).write(file);
  const std::string good = content_of(file);
  for (const std::size_t room :
       {std::size_t{0}, std::size_t{15}, std::size_t{300}, std::size_t{4096}, good.size() - 1})
    EXPECT_EQ(in_child([&] {
                const rlimit limit{room, room};
                ::setrlimit(RLIMIT_FSIZE, &limit);
                const std::string message = failure(file, Training(4));
                return message.find("File too large") != message.npos ? 0 : 1;
              }),
              0)
        << room;
  EXPECT_EQ(read(file), Training(3));
  EXPECT_EQ(files_in(folder.path()), 1u);
  if (fs::is_character_file("/dev/full")) {
    EXPECT_SAYS(failure("/dev/full", Training(4)), "No space left");
  }
  EXPECT_SAYS(failure(folder.path(), Training(4)), "it is a folder");
  EXPECT_SAYS(failure(file / "x.ckpt", Training(4)), "cannot be written");
}

TEST(Checkpoint, AFullFileSystemLeavesTheLastOne) {
  const Folder folder;
  constexpr int no_rights = 77;
  const int result = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      return no_rights;
    const fs::path file = folder.path() / "run.ckpt";
    Training(3, 8000).write(file);  // 35 KB: one fits, not two
    const std::string message = failure(file, Training(4, 8000));
    if (message.find("No space left") == message.npos) return 1;
    if (files_in(folder.path()) != 1) return 2;
    return read(file, 8000) == Training(3, 8000) ? 0 : 3;
  });
  if (result == no_rights) GTEST_SKIP() << "mounting a small file system needs root's rights";
  EXPECT_EQ(result, 0);
}

TEST(Checkpoint, WhatADeadWriterHasLeftIsOverwritten) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  Training(3).write(file);
  folder.put("run.ckpt.partial", content_of(file) + std::string(100000, 'x'));
  EXPECT_EQ(read(file), Training(3));
  Training(4).write(file);
  EXPECT_EQ(read(file), Training(4));
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Checkpoint, AWriterThatIsKilledLeavesAWholeOne) {
  const Folder folder;
  const fs::path file = folder.path() / "run.ckpt";
  constexpr std::size_t count = 300000;
  Training(0, count).write(file);
  int partial = 0;
  // More rounds, and later kills, where a writer is slow to begin.
  for (int round = 0; round < 20 || (partial == 0 && round < 200); ++round) {
    const pid_t child = ::fork();
    if (child == 0)
      [&]() noexcept {
        for (int step = 1;; ++step) Training(step, count).write(file);
      }();
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 1777 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const Training found = read(file, count);
    EXPECT_EQ(found, Training(found.state.at("step").get<int>(), count));
    partial += fs::exists(file.string() + ".partial") ? 1 : 0;
    EXPECT_LE(files_in(folder.path()), 2u);
  }
  EXPECT_GT(partial, 0) << "no writer was killed while it wrote";
}

}  // namespace test_checkpoint
}  // namespace assay
