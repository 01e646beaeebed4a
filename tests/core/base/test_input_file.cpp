#include "core/base/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/base/error.hpp"

namespace assay {
namespace test_input_file {

namespace fs = std::filesystem;

class InputFile : public testing::Test {
 protected:
  InputFile() { fs::create_directories(folder_); }
  ~InputFile() override { fs::remove_all(folder_); }
  static void refused(const fs::path& file, const std::string& said,
                      std::uint64_t most = largest_text) {
    try {
      read_text_file(file, most);
      ADD_FAILURE() << file << " was read";
    } catch (const InputError& error) {
      for (const std::string& part : {file.string(), said})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  const fs::path folder_ = fs::temp_directory_path() / ("assay-input-" + std::to_string(getpid()));
};

TEST_F(InputFile, ARegularFileIsReadAsAWhole) {
  const std::string text(3 << 20, 'x');
  std::ofstream(folder_ / "x") << text << std::string(1, '\0') << "end";
  EXPECT_EQ(read_text_file(folder_ / "x").size(), text.size() + 4);
  fs::create_symlink("x", folder_ / "link");
  EXPECT_EQ(read_text_file(folder_ / "link").size(), text.size() + 4);
  EXPECT_FALSE(read_text_file("/proc/self/stat").empty()) << "the kernel's files have no size";
  EXPECT_EQ(kind_that_is_not_read(folder_ / "x"), "");
  EXPECT_EQ(kind_that_is_not_read(folder_ / "missing"), "");
}

/// None of them is waited for.
TEST_F(InputFile, AllElseIsRefused) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  refused(folder_ / "pipe", "it is a pipe, which may never end");
  EXPECT_EQ(kind_that_is_not_read(folder_ / "pipe"), "a pipe");
  refused("/dev/zero", "it is a device, which may never end");
  refused(folder_, "it is a folder");
  refused(folder_ / "missing", "No such file");
  const int number = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder_ / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  refused(folder_ / "socket", "it is a socket");
  close(number);
}

TEST_F(InputFile, TheSizeIsLimited) {
  std::ofstream(folder_ / "x") << "12345";
  EXPECT_EQ(read_text_file(folder_ / "x", 5), "12345");
  refused(folder_ / "x", "larger than 0 MiB", 4);
  std::ofstream(folder_ / "huge").close();
  fs::resize_file(folder_ / "huge", largest_text + 1);
  refused(folder_ / "huge", "larger than 4096 MiB, the most that is read");
}

}  // namespace test_input_file
}  // namespace assay
