// A build is known by the content of its files.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "runner/launch/programs.hpp"

namespace assay {
namespace test_installation {

namespace fs = std::filesystem;
using nlohmann::json;

class Installation : public testing::Test {
 protected:
  Installation() {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "lib" / "assay");
    write("bin/assay-conv", "#!/bin/sh\n");
    fs::permissions(folder_ / "bin" / "assay-conv", fs::perms::owner_all);
    write("lib/assay/libassay_x.so", "plugin");
  }
  ~Installation() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }
  json hash() {
    return read_installation(check_executable_folder(folder_.string(), "--confirm")).hash;
  }
  fs::path folder_ =
      fs::path(testing::TempDir()) / ("assay-installation-" + std::to_string(getpid()));
};

TEST_F(Installation, IsKnownByItsContent) {
  EXPECT_EQ(check_executable_folder(folder_.string(), "--confirm"), folder_ / "bin");
  EXPECT_EQ(check_executable_folder((folder_ / "bin" / "assay-conv").string(), "--confirm"),
            folder_ / "bin");
  EXPECT_THROW(check_executable_folder((folder_ / "lib").string(), "--confirm"), InputError);
  const json first = hash();
  EXPECT_EQ(hash(), first);
  write("lib/assay/libassay_x.so", "plugim");
  EXPECT_NE(hash(), first);
  write("lib/assay/libassay_x.so", "plugin");
  EXPECT_EQ(hash(), first);
  write("bin/assay-conv", "#!/bin/bash\n");
  EXPECT_NE(hash(), first);
}

}  // namespace test_installation
}  // namespace assay
