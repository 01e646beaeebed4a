#include "models/input/stage_folder.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/models/input/staged_sets.hpp"

namespace assay {
namespace test_stage_folder {

namespace fs = std::filesystem;

constexpr std::int64_t piece = 1000;

const std::vector<StageFile> files = {{"a", 2500, "v1"}, {"sub/b", 700, "v1"}, {"empty", 0, ""}};

std::string content(std::size_t file) {
  return stage_content(static_cast<int>(file), static_cast<std::size_t>(files[file].bytes));
}

/// Puts the pieces of a file from `first` on.
void put(StageFolder& folder, std::size_t file, std::int64_t first = 0) {
  const std::string bytes = content(file);
  for (std::int64_t at = first; at < files[file].bytes; at += piece) {
    const std::int64_t count = std::min(piece, files[file].bytes - at);
    const std::span<const char> part(bytes.data() + at, static_cast<std::size_t>(count));
    folder.put({file, at, count}, part, stage_checksum(part));
  }
}

void stage_all(const std::string& path) {
  StageFolder folder(path, files, piece);
  for (std::size_t i = 0; i < files.size(); ++i) put(folder, i);
  folder.save();
}

TEST(StageFolder, KeepsFilesThatAreComplete) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  {
    StageFolder folder(path, files, piece);
    EXPECT_FALSE(folder.whole(0));
    EXPECT_TRUE(folder.whole(2));  // no bytes
    put(folder, 1);
    EXPECT_TRUE(folder.whole(1));
    EXPECT_FALSE(fs::exists(path + "/a"));
    EXPECT_NE(folder.fault().find("/a is not what was staged"), std::string::npos);
    put(folder, 0);
    EXPECT_EQ(folder.fault(), "");
    folder.save();
  }
  EXPECT_EQ(content_of(path + "/a"), content(0));
  EXPECT_EQ(content_of(path + "/sub/b"), content(1));
  EXPECT_EQ(fs::file_size(path + "/empty"), 0);
  StageFolder again(path, files, piece);
  for (std::size_t i = 0; i < files.size(); ++i) EXPECT_TRUE(again.whole(i)) << i;
  EXPECT_EQ(again.replaced(), 0);
}

/// A run that was killed in the middle of a file leaves nothing of it.
TEST(StageFolder, AnUnfinishedFileIsNotAccepted) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  {
    StageFolder folder(path, files, piece);
    put(folder, 1);
    folder.save();
    const std::string bytes = content(0);
    const std::span<const char> part(bytes.data(), piece);
    folder.put({0, 0, piece}, part, stage_checksum(part));
  }
  StageFolder again(path, files, piece);
  EXPECT_FALSE(again.whole(0));
  EXPECT_TRUE(again.whole(1));
  EXPECT_TRUE(fs::is_empty(path + "/" + stage_partial));
  put(again, 0);
  EXPECT_EQ(again.fault(), "");
}

/// The manifest was not written after the file had got its name.
TEST(StageFolder, AFileWithoutItsStateIsStagedAgain) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  { const StageFolder folder(path, files, piece); }
  temporary.write("stage/a", content(0));
  StageFolder again(path, files, piece);
  EXPECT_FALSE(again.whole(0));
  EXPECT_FALSE(fs::exists(path + "/a"));
}

TEST(StageFolder, ADifferenceOfOneByteIsFound) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  stage_all(path);
  {
    StageFolder folder(path, files, piece);
    flip_byte(path + "/sub/b", 699);
    EXPECT_NE(folder.fault().find("sub/b is not what was staged"), std::string::npos);
  }
  StageFolder again(path, files, piece);
  EXPECT_TRUE(again.whole(0));
  EXPECT_FALSE(again.whole(1));
  EXPECT_EQ(again.replaced(), 1);
}

TEST(StageFolder, OtherSizesAndVersionsAreStagedAgain) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  stage_all(path);
  std::vector<StageFile> changed = files;
  changed[0].version = "v2";
  fs::resize_file(path + "/sub/b", 600);
  const StageFolder again(path, changed, piece);
  EXPECT_FALSE(again.whole(0));
  EXPECT_FALSE(again.whole(1));
  EXPECT_EQ(again.replaced(), 2);
}

TEST(StageFolder, ALinkIsNoCopy) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  stage_all(path);
  fs::rename(path + "/a", temporary / "elsewhere");
  fs::create_symlink(temporary / "elsewhere", path + "/a");
  const StageFolder again(path, files, piece);
  EXPECT_FALSE(again.whole(0));
  EXPECT_TRUE(fs::exists(temporary / "elsewhere"));
}

TEST(StageFolder, BytesThatArriveWrongAreRefused) {
  const Folder temporary;
  StageFolder folder(temporary / "stage", files, piece);
  const std::string bytes = content(1);
  EXPECT_NE(message_of<CaseError>([&] {
              folder.put({1, 0, 700}, bytes, stage_checksum(bytes) ^ 1);
            }).find("arrived with another checksum"),
            std::string::npos);
  EXPECT_FALSE(folder.whole(1));
}

/// A disk that changes a byte between writing and reading.
TEST(StageFolder, BytesThatReadBackWrongAreRefused) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  StageFolder folder(path, files, piece);
  const std::string bytes = content(0);
  const std::span<const char> part(bytes.data(), piece);
  folder.put({0, 0, piece}, part, stage_checksum(part));
  flip_byte(path + "/" + stage_partial + "/0", 17);
  EXPECT_NE(message_of<CaseError>([&] { put(folder, 0, piece); }).find("does not read back"),
            std::string::npos);
  EXPECT_FALSE(folder.whole(0));
  EXPECT_FALSE(fs::exists(path + "/a"));
}

TEST(StageFolder, OneJobHasIt) {
  const Folder temporary;
  const std::string path = temporary / "stage";
  {
    const StageFolder folder(path, files, piece);
    EXPECT_NE(message_of<InputError>([&] { StageFolder(path, files, piece); }).find("another job"),
              std::string::npos);
  }
  StageFolder(path, files, piece);
}

TEST(StageFolder, FilesThatItHasNotStagedStay) {
  const Folder temporary;
  fs::create_directories(temporary / "foreign");
  temporary.write("foreign/a", "mine");
  EXPECT_NE(message_of<InputError>([&] {
              StageFolder(temporary / "foreign", files, piece);
            }).find("has a, which no staging has put there. Name a new or an empty folder."),
            std::string::npos);
  EXPECT_EQ(content_of(temporary / "foreign/a"), "mine");
  EXPECT_FALSE(fs::exists(fs::path(temporary / "foreign") / stage_partial));
  EXPECT_NE(message_of<InputError>([&] {
              StageFolder(temporary / "foreign", {{"b", 1, "v1"}}, piece);
            }).find("has a, which"),
            std::string::npos);

  const std::string path = temporary / "stage";
  stage_all(path);
  EXPECT_NE(message_of<InputError>([&] {
              StageFolder(path, {{"a", 2500, "v1"}}, piece);
            }).find("sub/b, of another set"),
            std::string::npos);
  std::vector<StageFile> more = files;
  more.push_back({"c", 1, "v1"});
  const std::string added = temporary.write("stage/c", "c");
  EXPECT_NE(message_of<InputError>([&] { StageFolder(path, more, piece); }).find("has c, which"),
            std::string::npos);
  fs::remove(added);
  // Without its manifest nothing is known to be staged.
  for (const char* damaged : {"", "{\"files\": [", "[1]", "{\"files\": [7]}",
                              "{\"schema\": \"assay-stage/1\", \"piece\": 1, \"files\": [{}]}"}) {
    temporary.write("stage/" + std::string(stage_manifest), damaged);
    EXPECT_NE(message_of<InputError>([&] {
                StageFolder(path, files, piece);
              }).find("which no staging has put there"),
              std::string::npos)
        << damaged;
  }
  EXPECT_EQ(content_of(path + "/a"), content(0));
}

TEST(StageFolder, AFolderThatCannotBeMadeIsTold) {
  const Folder temporary;
  temporary.write("file", "x");
  EXPECT_NE(message_of<InputError>([&] {
              StageFolder(temporary / "file/stage", files, piece);
            }).find("Name a folder that you may write to"),
            std::string::npos);
}

}  // namespace test_stage_folder
}  // namespace assay
