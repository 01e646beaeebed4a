#include "datasets/npy_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/error.hpp"
#include "datasets/file_table.hpp"
#include "datasets/synthetic.hpp"

namespace assay {
namespace test_npy_writer {

namespace fs = std::filesystem;

class NpyWriterTest : public ::testing::Test {
 protected:
  NpyWriterTest()
      : folder_(fs::path(testing::TempDir()) / ("npy_writer" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~NpyWriterTest() override { fs::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(NpyWriterTest, ATableIsReadAsItWas) {
  const ClassTable table({5003, 7, 11});  // more rows than one of several pieces has
  write_npy(table, folder_ / "x.npy", folder_ / "y.npy");
  DataTableOptions options;
  options.labels = folder_ / "y.npy";
  const auto read = open_table(folder_ / "x.npy", options);
  ASSERT_EQ(read->rows(), 5003);
  ASSERT_EQ(read->features(), 7);
  std::vector<double> x(5003 * 7), y(5003), x_read(x.size()), y_read(y.size());
  table.read(0, x, y);
  read->read(0, x_read, y_read);
  EXPECT_EQ(x_read, x);
  EXPECT_EQ(y_read, y);
  EXPECT_EQ(files(), 2U);
}

TEST_F(NpyWriterTest, SeveralPiecesFollowEachOther) {
  const NormalTable table({3000, 700, 2});  // 1498 rows a piece
  write_npy(table, folder_ / "x.npy");
  std::vector<double> x(3000 * 700), x_read(x.size());
  table.read(0, x);
  open_table(folder_ / "x.npy", {})->read(0, x_read);
  EXPECT_EQ(x_read, x);
}

TEST_F(NpyWriterTest, TheDataBeginAtAMultipleOf64Bytes) {
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{99}, std::int64_t{123456}}) {
    write_npy(NormalTable({rows, 1, 1}), folder_ / "x.npy");
    EXPECT_EQ((fs::file_size(folder_ / "x.npy") - static_cast<std::size_t>(8 * rows)) % 64, 0U);
  }
}

TEST_F(NpyWriterTest, WhatIsNotFinishedLeavesTheOldFile) {
  std::ofstream(folder_ / "x.npy") << "old";
  {
    NpyWriter writer(folder_ / "x.npy", {2, 2});
    writer.append(std::vector<double>{1, 2});
    EXPECT_THROW(writer.sync(), std::logic_error);
  }
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(fs::file_size(folder_ / "x.npy"), 3U);
  NpyWriter writer(folder_ / "x.npy", {1});
  EXPECT_THROW(writer.append(std::vector<double>{1, 2}), std::logic_error);
}

TEST_F(NpyWriterTest, OfTwoFilesNoneIsKeptAlone) {
  const ClassTable table({10, 3, 1});
  EXPECT_THROW(write_npy(table, folder_ / "x.npy", "/dev/full"), CaseError);
  EXPECT_THROW(write_npy(table, "/dev/full", folder_ / "y.npy"), CaseError);
  EXPECT_THROW(write_npy(table, folder_ / "none" / "x.npy"), CaseError);
  EXPECT_EQ(files(), 0U);
}

TEST_F(NpyWriterTest, NothingIsWrittenThroughALink) {
  fs::create_symlink(folder_ / "target.npy", folder_ / "link.npy");
  std::ofstream(folder_ / "target.npy") << "old";
  EXPECT_THROW(write_npy(NormalTable({4, 2, 1}), folder_ / "link.npy"), InputError);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.npy"));
  EXPECT_EQ(fs::file_size(folder_ / "target.npy"), 3U);
}

}  // namespace test_npy_writer
}  // namespace assay
