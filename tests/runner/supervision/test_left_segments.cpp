#include "runner/supervision/process_table.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace test_left_segments {

using namespace assay;
namespace fs = std::filesystem;

/// A process that has a segment mapped until it is killed.
class Mapper {
 public:
  explicit Mapper(const std::string& name) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const int file = shm_open(("/" + name).c_str(), O_RDWR | O_CREAT, 0600);
      if (ftruncate(file, 4096) != 0) _exit(1);
      void* const memory = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
      close(file);
      if (memory == MAP_FAILED || write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Mapper() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class LeftSegmentsTest : public testing::Test {
 protected:
  ~LeftSegmentsTest() override { fs::remove(file_); }
  const std::string name_ = "assay-test-left-" + std::to_string(getpid());
  const fs::path file_ = "/dev/shm/" + name_;
};

TEST_F(LeftSegmentsTest, WhatAKilledProcessHadMappedIsRemoved) {
  LeftSegments segments;
  Mapper process(name_);
  segments.look();
  EXPECT_TRUE(segments.remove().empty()) << "it is still in use";
  EXPECT_TRUE(fs::exists(file_));
  process.end();
  EXPECT_EQ(segments.remove(), std::vector<std::string>{name_});
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_TRUE(segments.remove().empty());
}

TEST_F(LeftSegmentsTest, WhatWasThereBeforeStays) {
  std::ofstream(file_) << std::string(4096, 'x');
  LeftSegments segments;
  Mapper process(name_);
  segments.look();
  process.end();
  EXPECT_TRUE(segments.remove().empty());
  EXPECT_TRUE(fs::exists(file_));
}

TEST_F(LeftSegmentsTest, WhatNoProcessOfTheJobHadMappedStays) {
  LeftSegments segments;
  std::ofstream(file_) << "somebody else's";
  segments.look();
  EXPECT_TRUE(segments.remove().empty());
  EXPECT_TRUE(fs::exists(file_));
}

}  // namespace test_left_segments
