#include "datasets/file_table.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <thread>

#include "data_files.hpp"

namespace assay {
namespace test_file_table {

namespace fs = std::filesystem;

TEST(FileTable, OnlyRegularFilesAreOpened) {
  const Folder folder;
  expect_error(folder / "missing.csv", "cannot open the file");
  expect_error(folder.write("empty.csv", ""), "is empty");
  expect_error(folder.write("empty.npy", ""), "is empty");
  fs::create_directory(folder / "sub.csv");
  expect_error(folder / "sub.csv", "is a folder");
  ASSERT_EQ(mkfifo((folder / "pipe.csv").c_str(), 0600), 0);
  expect_error(folder / "pipe.csv", "is a pipe");  // without waiting for a writer
  expect_error("/dev/zero", "is a device");
  expect_error("/dev/null", "is a device");
  expect_error("/proc/self/status", "is empty");
  expect_error(folder.write("dir.csv", "1") + "/a.csv", "cannot open the file");
  const std::string closed = folder.write("closed.csv", "1,2\n");
  chmod(closed.c_str(), 0);
  if (geteuid() != 0) expect_error(closed, "Permission denied");
  fs::create_symlink(folder.write("real.csv", "1,2\n"), folder / "link.csv");
  EXPECT_EQ(error_of(folder / "link.csv"), "");
}

/// One file of each format, of 2000 rows.
std::vector<std::string> files(const Folder& folder) {
  std::string csv = "a,b,label\n", libsvm, data;
  for (int i = 0; i < 2000; ++i) {
    csv += std::to_string(i) + ",0.25," + std::to_string(i % 2) + "\n";
    libsvm += std::to_string(i % 2) + " 1:" + std::to_string(i) + " 2:0.25\n";
    data += raw<double>({static_cast<double>(i), 0.25});
  }
  return {folder.write("a.csv", csv), folder.write("a.svm", libsvm),
          folder.write("a.npy", npy("'<f8'", "False", "(2000, 2)", data)),
          folder.write("b.npy", npy("'<f8'", "True", "(2000, 2)", data))};
}

TEST(FileTable, AFileThatChangesIsAnError) {
  const Folder folder;
  for (const std::string& path : files(folder)) {
    std::string content(fs::file_size(path), '\0');
    std::ifstream(path, std::ios::binary).read(content.data(), std::ssize(content));
    const auto expect = [&](const char* what, const auto& change) {
      const auto table = open_table(path, {"", 100});
      read_all(*table);
      change();
      for (const std::int64_t first : {0, 1990}) {
        try {
          read_rows(*table, first, 10);
          ADD_FAILURE() << path << " " << what;
        } catch (const InputError& error) {
          const std::string message = error.what();
          EXPECT_NE(message.find("while it was read"), message.npos) << message;
        }
      }
      EXPECT_THROW(table->canonical(), InputError);
      std::ofstream(path, std::ios::binary) << content;
    };
    expect("shrinks", [&] { fs::resize_file(path, content.size() / 2); });
    expect("is emptied", [&] { fs::resize_file(path, 0); });
    expect("grows", [&] { std::ofstream(path, std::ios::app) << "1,2,3\n"; });
    expect("grows without a new time", [&] {
      const auto time = fs::last_write_time(path);
      std::ofstream(path, std::ios::app) << "1,2,3\n";
      fs::last_write_time(path, time);
    });
    expect("is written again", [&] {
      std::ofstream(path, std::ios::binary) << std::string(content.size(), 'x');
      fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
    });
  }
}

TEST(FileTable, AFileThatIsDeletedOrReplacedIsStillReadAsItWas) {
  const Folder folder;
  for (const std::string& path : files(folder)) {
    const auto table = open_table(path);
    const Rows before = read_all(*table);
    fs::rename(folder.write("new", "7,7,1\n"), path);
    EXPECT_EQ(read_all(*table), before) << path;
    fs::remove(path);
    EXPECT_EQ(read_all(*table), before) << path;
  }
}

TEST(FileTable, AFileThatShrinksUnderManyReadsNeverCrashes) {
  const Folder folder;
  for (const std::string& path : files(folder)) {
    const auto size = fs::file_size(path);
    const auto table = open_table(path, {"", 64});
    const Rows whole = read_all(*table);
    std::thread writer([&] {
      for (std::uintmax_t left = size; left > 100; left -= size / 50) fs::resize_file(path, left);
    });
    bool failed = false;
    for (int i = 0; i < 200; ++i) {
      try {
        EXPECT_EQ(read_all(*table), whole);
        EXPECT_FALSE(failed);
      } catch (const InputError&) {
        failed = true;
      }
    }
    writer.join();
    EXPECT_THROW(read_all(*table), InputError);
  }
}

TEST(FileTable, TheCanonicalNameIsOfTheContent) {
  const Folder folder;
  const auto name = [&](const std::string& file, const std::string& content) {
    return open_table(folder.write(file, content))->canonical();
  };
  const std::string first = name("a.csv", "1,2\n3,4\n");
  EXPECT_EQ(first.substr(0, 11), "a.csv:n2d2:");
  EXPECT_EQ(first.size(), 23u);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef", 11), first.npos);
  EXPECT_EQ(name("a.csv", "1,2\n3,4\n"), first);
  EXPECT_NE(name("a.csv", "1,2\n3,5\n"), first);
  EXPECT_EQ(name("b.csv", "1,2\n3,4\n").substr(11), first.substr(11));
  EXPECT_EQ(name("a b:c.csv", "1\n").substr(0, 15), "a_b_c.csv:n1d1:");
  // Pieces of 4 MiB are hashed apart: their order counts, and so does the last byte.
  std::string large(static_cast<std::size_t>(9) << 20, ' ');
  large[0] = '1';
  large[1] = '\n';
  const std::string hash = name("c.csv", large);
  std::swap(large[5], large[(std::size_t{4} << 20) + 5] = '\n');
  const std::string other = name("c.csv", large);
  EXPECT_NE(other, hash);
  large.back() = '\n';
  EXPECT_NE(name("c.csv", large), other);
}

TEST(FileTable, MutatedFilesEndInRowsOrAnInputError) {
  const Folder folder;
  const std::string csv = "\xEF\xBB\xBF\"a\",b,label\r\n1.5,-2e3,1\r\n3,.25,0\r\n\r\n-7,1e-9,1\r\n",
                    libsvm = "+1 1:0.5 3:-2e3\n# comment\n-1 2:7 4:.25 # more\n1 4:1\n";
  const std::string array =
      npy("'<f8'", "False", "(3, 2)", raw<double>({1.5, -2e3, 3, 0.25, -7, 1e-9}));
  std::mt19937 random(1);
  const auto below = [&](std::size_t most) { return random() % most; };
  int read = 0, refused = 0;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);  // to form thousands of teams would be slow on a busy machine
  for (const auto& [name, original] :
       {std::pair{"a.csv", csv}, {"a.svm", libsvm}, {"a.npy", array}, {"unnamed", csv}}) {
    for (int round = 0; round < 3000; ++round) {
      std::string text = original;
      for (std::size_t change = 0; change <= below(3); ++change) {
        const std::size_t at = below(text.size());
        const std::string interesting("0,:\n\r\"#- \0\xFF{}('", 15);
        switch (below(5)) {
          case 0:
            text[at] = static_cast<char>(text[at] ^ 1 << below(8));
            break;
          case 1:
            text.resize(at + 1);
            break;
          case 2:
            text.erase(at, 1 + below(8));
            break;
          case 3:
            text[at] = interesting[below(interesting.size())];
            break;
          default:
            text.insert(at, text.substr(below(text.size()), 1 + below(8)));
        }
        if (text.empty()) text = "\n";
      }
      try {
        const auto table =
            open_table(folder.write(name, text), {"", 1 + static_cast<std::int64_t>(below(40))});
        ASSERT_GE(table->rows(), 1);
        ASSERT_GE(table->features(), 1);
        ASSERT_LE(table->rows(), std::ssize(text));
        if (table->features() > 100000) continue;  // a damaged index of libsvm
        for (const double value : read_all(*table).x) ASSERT_TRUE(std::isfinite(value));
        ++read;
      } catch (const InputError& error) {
        ASSERT_NE(std::string(error.what()), "");
        ++refused;
      }
    }
  }
  omp_set_num_threads(threads);
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace test_file_table
}  // namespace assay
