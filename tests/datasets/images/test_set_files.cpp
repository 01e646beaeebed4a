#include "datasets/images/set_files.hpp"

#include <gtest/gtest.h>

#include <future>

#include "core/base/error.hpp"
#include "datasets/images/read_counter.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_set_files {

namespace fs = std::filesystem;

TEST(SetFiles, AreThoseThatAreOpened) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  const std::string prefix = write_test_set(folder, 6, 3);
  const SetFiles set = find_set_files(prefix);
  EXPECT_EQ(set.pattern, "train-");
  EXPECT_EQ(set.names, (std::vector<std::string>{"train-0", "train-1", "train-2"}));
  const std::vector<std::string> opened = open_samples(prefix, {0, 5})->files();
  ASSERT_EQ(opened.size(), set.names.size());
  for (std::size_t i = 0; i < opened.size(); ++i)
    EXPECT_EQ((set.folder / set.names[i]).string(), opened[i]);
  EXPECT_NE(message_of<InputError>([&] { find_set_files(folder / "none"); }).find("no TFRecord"),
            std::string::npos);
}

/// However the folder is written.
TEST(SetFiles, HavePlainNames) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  fs::create_directories(folder / "classes/a");
  folder.write("classes/a/1.jpg", "x");
  fs::create_directories(folder / "records");
  folder.write("records/x.tfrecord", test_record(0));
  const fs::path before = fs::current_path();
  const auto names = [&](const std::string& from, const std::string& data) {
    fs::current_path(folder / from);
    const std::vector<std::string> found = find_set_files(data).names;
    fs::current_path(before);
    return found;
  };
  using Names = std::vector<std::string>;
  for (const char* data : {".", "./", "..//classes", "./../classes/."})
    EXPECT_EQ(names("classes", data), (Names{"a/1.jpg"})) << data;
  for (const char* data : {".", "./", "x", "./x", "./x.tfrecord", "..//records/x*", "../records/"})
    EXPECT_EQ(names("records", data), (Names{"x.tfrecord"})) << data;
}

TEST(SetFiles, LieInOneFolder) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Folder folder;
  for (const char* part : {"part0", "part1"}) {
    fs::create_directories(folder / part);
    folder.write(std::string(part) + "/x", test_record(0));
  }
  EXPECT_NE(message_of<InputError>([&] {
              find_set_files(folder / "part*/x");
            }).find("lies in several folders"),
            std::string::npos);
}

/// Also what is in the page cache counts, and nothing else of the process does.
TEST(ReadCounter, CountsTheBytesOfItsThread) {
  if (!ReadCounter().known()) GTEST_SKIP() << "no /proc/thread-self/io";
  const Folder folder;
  const std::string file = folder.write("x", std::string(300001, 'x'));
  ReadCounter counter;
  EXPECT_EQ(counter.requested(), 0);
  std::async(std::launch::async, [&] { content_of(file); }).wait();
  EXPECT_EQ(counter.requested(), 0);
  EXPECT_EQ(content_of(file).size(), 300001);
  EXPECT_EQ(counter.requested(), 300001);
}

}  // namespace test_set_files
}  // namespace assay
