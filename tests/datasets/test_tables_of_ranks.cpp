// Ranks that open a table together: each scans a part of the file.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "data_files.hpp"
#include "datasets/text_rows.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_tables_of_ranks {

/// The findings of a rank: the table's name, the rows of its part, or an error.
struct Found {
  std::string name, error;
  std::int64_t rows = 0;
  Rows own;
};

/// Rank r of as many as there are paths opens paths[r], and reads its part of the rows.
std::vector<Found> found_by(
    const std::vector<std::string>& paths, std::int64_t index_bytes,
    const std::function<void()>& before_reading = [] {}) {
  std::vector<Found> all(paths.size());
  testing_fakes::on_threads(static_cast<int>(paths.size()), [&](Communicator& ranks) {
    omp_set_num_threads(1);
    const auto rank = static_cast<std::size_t>(ranks.rank());
    Found& mine = all[rank];
    try {
      DataTableOptions options;
      options.index_bytes = index_bytes;
      options.ranks = &ranks;
      const auto table = open_table(paths[rank], options);
      mine.name = table->canonical();
      mine.rows = table->rows();
      ranks.barrier();
      if (rank == 0) before_reading();
      ranks.barrier();
      const Share share{ranks.rank(), ranks.size()};
      const std::int64_t first = share.begin(mine.rows);
      mine.own = read_rows(*table, first, share.end(mine.rows) - first);
    } catch (const InputError& error) {
      mine.error = error.what();
    }
  });
  return all;
}

std::vector<std::string> times(int ranks, const std::string& path) {
  return std::vector<std::string>(static_cast<std::size_t>(ranks), path);
}

/// 300 rows with all that CSV allows: a byte order mark, names in quotation marks, both ends of
/// lines, blank ones, blanks around numbers, and no end of the last.
std::string irregular_csv() {
  std::string text = "\xEF\xBB\xBF\"a, \"\"b\"\"\nc\",d,class\r\n";
  for (int row = 0; row < 300; ++row) {
    text += std::to_string(row * 0.37) + "," + std::string(static_cast<std::size_t>(row % 7), ' ') +
            std::to_string(-row) + "," + std::to_string(row % 2);
    if (row < 299) text += row % 3 ? "\n" : "\r\n";
    if (row % 11 == 0) text += "\n \r\n";
  }
  return text;
}

std::string sparse_libsvm() {
  std::string text = "# comment\n";
  for (int row = 0; row < 300; ++row)
    text += std::to_string(row % 2) + " " + std::to_string(row % 5 + 1) + ":" +
            std::to_string(row) + (row == 200 ? " 9:1 # the last feature\n" : "\n");
  return text;
}

TEST(TablesOfRanks, AreTheSameForAnyNumberOfRanks) {
  const Folder folder;
  std::string numbers;
  for (int i = 0; i < 300; ++i) numbers += raw<double>({static_cast<double>(i), 0.25});
  for (const std::string& path :
       {folder.write("a.csv", irregular_csv()), folder.write("a.svm", sparse_libsvm()),
        folder.write("a.npy", npy("'<f8'", "False", "(300, 2)", numbers))}) {
    const auto alone = open_table(path);
    const Rows whole = read_all(*alone);
    ASSERT_EQ(alone->rows(), 300);
    for (const int ranks : {1, 2, 3, 4})
      for (const std::int64_t step : {1, 7, 64, 100000}) {
        Rows together;
        for (const Found& found : found_by(times(ranks, path), step)) {
          ASSERT_EQ(found.error, "") << path;
          EXPECT_EQ(found.rows, 300) << path << " on " << ranks;
          EXPECT_EQ(found.name, alone->canonical());
          together.x.insert(together.x.end(), found.own.x.begin(), found.own.x.end());
          together.labels.insert(together.labels.end(), found.own.labels.begin(),
                                 found.own.labels.end());
        }
        EXPECT_EQ(together, whole) << path << " on " << ranks << " by " << step;
      }
  }
}

TEST(TablesOfRanks, HaveFewerRowsThanRanks) {
  const Folder folder;
  for (const char* text : {"a,b\n1,2", "1,2\n"}) {
    const std::string path = folder.write("a.csv", text);
    for (const Found& found : found_by(times(4, path), 1 << 18)) {
      EXPECT_EQ(found.error, "");
      EXPECT_EQ(found.rows, 1);
      EXPECT_EQ(found.name, open_table(path)->canonical());
    }
  }
  for (const Found& found : found_by(times(4, folder.write("a.csv", "a,b\n")), 1))
    EXPECT_NE(found.error.find("there are no rows"), std::string::npos) << found.error;
}

TEST(TablesOfRanks, ErrorsNameTheRowOfTheFile) {
  const Folder folder;
  std::string before;
  for (int row = 0; row < 299; ++row) before += std::to_string(row + 1) + ",1\n";
  for (const auto& [wrong, said] :
       {std::pair{"7,nan", "row 300, column 2: 'nan' is not a finite number"},
        {"7,", "row 300, column 2: the value is missing"},
        {"7,8,9", "row 300, column 3: the row has 3 columns"}}) {
    const std::string path = folder.write("a.csv", before + wrong);
    for (const int ranks : {1, 2, 3, 4}) {
      const std::vector<Found> all = found_by(times(ranks, path), 64);
      EXPECT_NE(all.back().error.find(said), std::string::npos) << all.back().error;
      for (int rank = 0; rank + 1 < ranks; ++rank)
        EXPECT_EQ(all[static_cast<std::size_t>(rank)].error, "") << "only a row was wrong";
    }
  }
}

TEST(TablesOfRanks, AFileThatShrinksIsAnErrorOfEach) {
  const Folder folder;
  const std::string path = folder.write("a.csv", irregular_csv());
  for (const Found& found :
       found_by(times(3, path), 64, [&] { std::filesystem::resize_file(path, 500); }))
    EXPECT_NE(found.error.find("while it was read"), std::string::npos) << found.error;
}

TEST(TablesOfRanks, WhatOneRankCannotOpenIsAnErrorOfAll) {
  const Folder folder;
  const std::string good = folder.write("a.csv", "1,2\n3,4\n");
  for (const Found& found : found_by({good, folder / "absent.csv", good}, 64))
    EXPECT_TRUE(found.error.starts_with("rank 1 on threads0: cannot open the file")) << found.error;
  for (const Found& found : found_by({good, good, folder.write("b.csv", "a,b\n")}, 64))
    EXPECT_TRUE(found.error.starts_with("rank 2 on threads0: ")) << found.error;
}

/// Nodes have disks of their own: such files may differ, and their names then tell it.
TEST(TablesOfRanks, CopiesAreReadAndNamedByTheirOwnContent) {
  const Folder one, other;
  const std::string first = one.write("a.csv", "1,2\n3,4\n5,6\n7,8\n"),
                    equal = other.write("a.csv", "1,2\n3,4\n5,6\n7,8\n"),
                    unequal = other.write("b.csv", "1,2\n3,4\n5,6\n7,9\n");
  std::vector<Found> all = found_by({first, equal}, 1);
  EXPECT_EQ(all[0].name, all[1].name);
  EXPECT_EQ(all[1].own.x, (std::vector<double>{5, 6, 7, 8}));
  all = found_by({first, unequal, first}, 1);
  EXPECT_EQ(all[0].name, all[2].name);
  EXPECT_NE(all[0].name.substr(6), all[1].name.substr(6));
  EXPECT_EQ(all[1].name, open_table(unequal)->canonical());
}

TEST(TablesOfRanks, EachRowIsScannedByOneShare) {
  const Folder folder;
  std::string text;
  for (int row = 0; row < 100; ++row) text += std::to_string(row) + "\n";
  const DataFile file(folder.write("a.csv", text));
  const TextRows rows(file, 0, '\0', 16);
  for (const std::int64_t readers : {1, 3, 40}) {
    std::string seen;
    std::int64_t counted = 0;
    for (std::int64_t i = 0; i < readers; ++i) {
      std::mutex mutex;
      std::vector<int> of_share;  // in any order
      for (const std::int64_t count : rows.count({i, readers}, [&](const TextRows::Line& line) {
             const std::lock_guard lock(mutex);
             of_share.push_back(std::stoi(std::string(line.text)));
           }))
        counted += count;
      std::sort(of_share.begin(), of_share.end());
      for (const int row : of_share) seen += std::to_string(row) + "\n";
    }
    EXPECT_EQ(seen, text) << readers;
    EXPECT_EQ(counted, 100);
  }
}

/// Bytes that this thread has read so far; below 0 where the system does not tell.
std::int64_t bytes_read() {
  std::ifstream file("/proc/thread-self/io");
  std::string name;
  std::int64_t bytes = -1;
  return file >> name >> bytes && name == "rchar:" ? bytes : -1;
}

TEST(TablesOfRanks, EachRankReadsItsPartOfTheFile) {
  if (bytes_read() < 0) GTEST_SKIP() << "the system does not count what a thread reads";
  const Folder folder;
  std::string text;  // four pieces of 4 MiB, which are hashed apart
  text.reserve(std::size_t{1} << 24);
  while (text.size() < std::size_t{1} << 24) text += std::string(1022, ' ') + "1\n";
  const std::string path = folder.write("a.csv", text);
  testing_fakes::on_threads(4, [&](Communicator& ranks) {
    omp_set_num_threads(1);
    DataTableOptions options;
    options.ranks = &ranks;
    const std::int64_t before = bytes_read();
    const auto table = open_table(path, options);
    EXPECT_NE(table->canonical(), "");
    // Once for the index, once for the name; and the head, which tells the format and the columns.
    EXPECT_LT(bytes_read() - before, std::ssize(text) * 3 / 4);
    EXPECT_EQ(table->rows(), 1 << 14);
  });
}

}  // namespace test_tables_of_ranks
}  // namespace assay
