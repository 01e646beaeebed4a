#include "core/machine/binaries.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/machine/environment.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_binaries {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(Binaries, ContentsThatDifferInAByteOrInLengthHaveOtherHashes) {
  const fixture::Folder folder;
  const auto hash_of = [&](const std::string& text) {
    return hash_of_content(folder.put("libassay_x.so", text));
  };
  const std::string content(3 << 20, 'x');
  const std::string hash = hash_of(content);
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash_of(content), hash);
  for (const std::size_t place : {std::size_t{0}, std::size_t{1 << 20}, content.size() - 1}) {
    std::string edited = content;
    edited[place] = 'y';
    EXPECT_NE(hash_of(edited), hash) << place;
  }
  EXPECT_NE(hash_of(content + "0123456789"), hash);
  EXPECT_NE(hash_of(content + std::string(3, '\0')), hash);
  EXPECT_NE(hash_of(""), hash_of(std::string(8, '\0')));
  EXPECT_NE(hash_of("abc"), hash_of(std::string("abc\0", 4)));
  EXPECT_EQ(hash_of_content("/nowhere/libx.so"), "");
  EXPECT_EQ(hash_of_content("/"), "");
}

TEST(Binaries, TheProgramAndItsLibrariesHaveAnIdentity) {
  const json binaries = list_loaded_binaries();
  const std::string program = fs::read_symlink("/proc/self/exe").filename();
  ASSERT_TRUE(binaries.contains(program)) << binaries.dump(1);
  EXPECT_EQ(binaries[program], "content " + hash_of_content("/proc/self/exe"));
  ASSERT_TRUE(binaries.contains("libc.so.6")) << binaries.dump(1);
  for (const auto& [name, identity] : binaries.items()) {
    EXPECT_FALSE(name.starts_with("linux-vdso"));
    const std::string text = identity;
    EXPECT_TRUE(text.starts_with("build-id ") || text.starts_with("content ")) << name << text;
  }
  EXPECT_EQ(list_loaded_binaries(), binaries);
}

TEST(Binaries, AnotherBuildIsAnotherSoftware) {
  json environment = capture_environment();
  const json without = environment;
  add_binaries(environment);
  EXPECT_NE(environment["hashes"]["software"], without["hashes"]["software"]);
  EXPECT_EQ(environment["hashes"]["hardware"], without["hashes"]["hardware"]);
  json other = environment;
  add_binaries(other);
  EXPECT_EQ(other["hashes"], environment["hashes"]);
  // Older versions have not told them.
  json now = environment["software"], before = without["software"];
  keep_common_fields(now, before);
  EXPECT_EQ(now, before);
  now = environment["software"];
  other["software"]["binaries"]["libc.so.6"] = "build-id 7";
  keep_common_fields(now, other["software"]);
  EXPECT_NE(now, other["software"]);
}

}  // namespace test_binaries
}  // namespace assay
