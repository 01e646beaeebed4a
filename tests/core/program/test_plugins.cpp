#include "core/base/paths.hpp"
#include "core/program/benchmark.hpp"
#include "core/program/plugins.hpp"

#include "assay/test_paths.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace assay {
namespace test_plugins {

namespace fs = std::filesystem;

class PluginFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("assay-plugins-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  static std::string reason(const Result<Backend*>& made) {
    const auto* refusal = std::get_if<Unsupported>(&made);
    return refusal == nullptr ? "" : refusal->reason;
  }
  fs::path folder_;
};

TEST_F(PluginFolder, NamesComeFromFiles) {
  for (const char* file :
       {"libassay_b.so", "libassay_a.so", "libassay_core.so", "libother.so", "notes.txt"})
    std::ofstream(folder_ / file) << "x";
  EXPECT_EQ(Plugins({folder_}).names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(Plugins({folder_ / "missing"}).names().empty());
}

TEST_F(PluginFolder, AFileThatIsNoLibraryIsOneLineOfReason) {
  std::ofstream(folder_ / "libassay_damaged.so") << "not an ELF file";
  Plugins plugins({folder_});
  const std::string told = reason(plugins.open("damaged"));
  EXPECT_TRUE(told.starts_with("damaged: unavailable: ")) << told;
  EXPECT_EQ(told.find('\n'), std::string::npos);
  EXPECT_FALSE(plugins.status("damaged").available);
  EXPECT_EQ(reason(plugins.open("damaged")), told);  // asked again, answered the same
}

TEST_F(PluginFolder, ALibraryWithoutEntryPointIsNamedSo) {
  // Any library that is no plugin will do; core's own is at hand.
  fs::create_symlink(fs::path(ASSAY_BUILD_DIR) / "lib" / "libassay_core.so",
                     folder_ / "libassay_foreign.so");
  Plugins plugins({folder_});
  EXPECT_NE(reason(plugins.open("foreign")).find("not an Assay plugin"), std::string::npos);
}

TEST_F(PluginFolder, AnAbsentPluginIsUnavailable) {
  Plugins plugins({folder_});
  EXPECT_NE(reason(plugins.open("cuda")).find("no plugin libassay_cuda.so"), std::string::npos);
}

TEST(Plugins, TheReferenceBackendIsThere) {
  Plugins plugins({fs::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const PluginStatus status = plugins.status("reference");
  EXPECT_TRUE(status.available) << status.reason;
}

/// kernels/rnn/gemm.cpp is a part of the operation rnn, and no backend that has gemm.
TEST(KnownBackends, AnOperationIsNoBackend) {
  const std::vector<std::string> gemm = dimension::list_backends("gemm");
  EXPECT_EQ(std::count(gemm.begin(), gemm.end(), "reference"), 1);
  EXPECT_EQ(std::count(gemm.begin(), gemm.end(), "rnn"), 0);
}

TEST(DataFolder, IsFoundOrRefused) {
  EXPECT_TRUE(fs::exists(data_folder("results-schema") / "result.schema.json"));
  EXPECT_THROW(data_folder("no-such-folder"), std::runtime_error);
}

}  // namespace test_plugins
}  // namespace assay
