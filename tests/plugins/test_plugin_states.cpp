// Every fault of a plugin is one line of reason.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "assay/interface_version.hpp"
#include "core/program/plugins.hpp"

namespace {

namespace fs = std::filesystem;
using assay::Plugins;

/// The reason why a plugin cannot be used; fails where it can.
std::string reason_of(Plugins& plugins, const std::string& name) {
  const auto made = plugins.open(name);
  EXPECT_TRUE(std::holds_alternative<assay::Unsupported>(made)) << name << " could be opened";
  if (const auto* refusal = std::get_if<assay::Unsupported>(&made)) return refusal->reason;
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class PluginStates : public testing::Test {
 protected:
  Plugins plugins_{std::vector<fs::path>{TEST_PLUGINS}};
};

TEST_F(PluginStates, OtherInterfaceNamesBothVersionsAndCallsNothing) {
  const std::string reason = reason_of(plugins_, "oldinterface");
  EXPECT_TRUE(
      has(reason, "oldinterface: unavailable: built for interface 0123456789abcdef, this is "))
      << reason;
  EXPECT_TRUE(has(reason, assay::interface_version)) << reason;
}

TEST_F(PluginStates, UndefinedSymbolIsNamed) {
  EXPECT_TRUE(has(reason_of(plugins_, "undefinedsymbol"), "assay_test_function_that_nobody_has"));
}

TEST_F(PluginStates, MissingLibraryIsNamed) {
  EXPECT_TRUE(has(reason_of(plugins_, "missinglibrary"), "libvanished.so"));
}

TEST_F(PluginStates, LibraryWithoutEntryIsNoPlugin) {
  EXPECT_TRUE(has(reason_of(plugins_, "noentry"), "assay_backend_entry"));
}

TEST_F(PluginStates, ReasonsOfCreateArePassedOn) {
  EXPECT_EQ(reason_of(plugins_, "refusing"),
            "refusing: unavailable: no device of this kind in this machine");
  EXPECT_EQ(reason_of(plugins_, "throwing"),
            "throwing: unavailable: the driver is older than the library");
}

TEST_F(PluginStates, EmptyEntryIsNoPlugin) {
  EXPECT_TRUE(has(reason_of(plugins_, "emptyentry"), "its entry is empty"));
}

TEST_F(PluginStates, AnotherBackendsNameIsRefused) {
  EXPECT_TRUE(has(reason_of(plugins_, "misnamed"), "calls itself 'reference'"));
}

TEST(PluginFiles, APipeIsNotWaitedFor) {
  const fs::path folder = fs::temp_directory_path() / ("assay-pipe-" + std::to_string(getpid()));
  fs::create_directories(folder);
  ASSERT_EQ(mkfifo((folder / "libassay_pipe.so").c_str(), 0600), 0);
  Plugins plugins({folder});
  EXPECT_TRUE(has(reason_of(plugins, "pipe"), "is not a regular file"));
  fs::remove_all(folder);
}

TEST_F(PluginStates, AbsentPluginIsToldWithTheWayToIt) {
  EXPECT_TRUE(has(reason_of(plugins_, "nosuchbackend"), "ASSAY_PLUGIN_PATH"));
}

TEST_F(PluginStates, FilesThatAreNoLibraries) {
  const fs::path folder = fs::temp_directory_path() / ("assay-plugins-" + std::to_string(getpid()));
  fs::create_directories(folder / "libassay_folder.so");
  std::ofstream(folder / "libassay_text.so") << "not an ELF file\n";
  std::ofstream(folder / "libassay_empty.so");
  fs::create_symlink(folder / "nowhere", folder / "libassay_dangling.so");
  Plugins plugins{std::vector<fs::path>{folder, "/nonexistent/folder"}};
  for (const char* name : {"folder", "text", "empty", "dangling"}) {
    const std::string reason = reason_of(plugins, name);
    EXPECT_TRUE(has(reason, std::string(name) + ": unavailable: ")) << reason;
    EXPECT_FALSE(plugins.status(name).available);
  }
  fs::remove_all(folder);
}

// glibc maps a library without looking at the file's size, and dies of SIGBUS where an interrupted
// copy has no bytes.
TEST_F(PluginStates, IncompleteCopyIsNoCrash) {
  const fs::path folder =
      fs::temp_directory_path() / ("assay-plugins-cut-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path whole = fs::path(TEST_PLUGINS) / "libassay_refusing.so";
  const auto size = fs::file_size(whole);
  for (const std::uintmax_t bytes :
       {std::uintmax_t{10}, std::uintmax_t{63}, std::uintmax_t{1000}, size / 2, size - 1}) {
    const fs::path cut = folder / "libassay_cut.so";
    fs::copy_file(whole, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, bytes);
    EXPECT_EXIT(
        {
          Plugins plugins{std::vector<fs::path>{folder}};
          std::exit(plugins.status("cut").available ? 1 : 0);
        },
        testing::ExitedWithCode(0), "")
        << bytes << " of " << size << " bytes";
  }
  fs::remove_all(folder);
}

TEST_F(PluginStates, UnusableOnesHideNoUsableOne) {
  setenv("ASSAY_FAULT_INNER", "no-such-inner", 1);
  for (const std::string& name : plugins_.names()) plugins_.open(name);
  EXPECT_TRUE(
      has(reason_of(plugins_, "faulty"), "no-such-inner"));  // it was loaded and speaks for itself
  unsetenv("ASSAY_FAULT_INNER");
}

}  // namespace
