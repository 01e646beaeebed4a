// read_json, write_json and check_writable.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "core/result/schema.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_schema_files {

namespace fs = std::filesystem;
using fixture::Folder;
using fixture::in_child;
using fixture::message_of;
using nlohmann::json;

TEST(ReadJson, SaysWhereAndWhat) {
  const Folder folder;
  const auto refusal = [&](const std::string& text) {
    return message_of([&] { read_json(folder.put("x.json", text)); });
  };
  EXPECT_EQ(refusal("{\"a\": [1, 2.5, null]}"), "accepted");
  EXPECT_SAYS(refusal(""), "is empty (line 1, column 1)");
  EXPECT_SAYS(refusal(" \n "), "is empty");
  EXPECT_SAYS(refusal("{\n  \"a\": NaN\n}"), "line 2, column");
  EXPECT_SAYS(refusal("{\n  \"a\": NaN\n}"), "NaN is not a JSON number");
  EXPECT_SAYS(refusal("{\"a\": -Infinity}"), "Infinity is not a JSON number");
  EXPECT_SAYS(refusal("[1, Infinity]"), "Infinity is not a JSON number");
  EXPECT_SAYS(refusal("[1, 1e999]"), "line 1, column 5");
  EXPECT_SAYS(refusal("[1, 1e999]"), "overflow");
  EXPECT_SAYS(refusal("{\"a\": \"\xff\xfe\"}"), "not UTF-8");
  EXPECT_SAYS(refusal("{\"a\": 1,}"), "line 1, column 9");
  EXPECT_SAYS(refusal("{\"a\": 1, \"b\": 2, \"a\": 3}"), "\"a\" appears twice");
  EXPECT_EQ(refusal("[{\"a\": 1}, {\"a\": 1}, {\"b\": {\"a\": 1}, \"a\": 2}]"), "accepted");
  EXPECT_SAYS(refusal(std::string(100000, '[')), "nested deeper");
  EXPECT_SAYS(refusal("{} {}"), "line 1, column 4");
}

TEST(ReadJson, ATruncatedFileAtEveryByte) {
  const Folder folder;
  const std::string text = fixture::result({fixture::row(fixture::good_outcome())}).dump();
  for (std::size_t size = 1; size < text.size(); size += 97) {
    const std::string message =
        message_of([&] { read_json(folder.put("x.json", text.substr(0, size))); });
    EXPECT_SAYS(message, "is not valid JSON at line 1, column");
  }
}

TEST(ReadJson, WhatIsNoFile) {
  const Folder folder;
  EXPECT_SAYS(message_of([&] { read_json(folder.path() / "missing.json"); }), "No such file");
  EXPECT_SAYS(message_of([&] { read_json(folder.path() / "missing.json"); }),
              (folder.path() / "missing.json").string());
  EXPECT_SAYS(message_of([&] { read_json(folder.path()); }), "it is a folder");
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}
std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(WriteJson, ReadsBackAndMakesFolders) {
  const Folder folder;
  const json document = {{"name", "é\n"},
                         {"rows", {{{"a", 0.1}}, {{"b", nullptr}}}},
                         {"empty", json::array()},
                         {"n", {1, 2, 3}}};
  const fs::path file = folder.path() / "new" / "deep" / "x.json";
  write_json(file, document);
  EXPECT_EQ(read_json(file), document);
  write_json(file, 17);
  EXPECT_EQ(read_json(file), 17);
  EXPECT_EQ(files_in(file.parent_path()), 1u);
}

TEST(WriteJson, NothingIsWrittenThroughALink) {
  const Folder folder;
  const fs::path file = folder.path() / "x.json";
  write_json(file, 1);
  for (const fs::path& target : {file, folder.path() / "nowhere"}) {
    const fs::path link = folder.path() / "link.json";
    fs::create_symlink(target, link);
    EXPECT_SAYS(message_of([&] { write_json(link, 2); }), "it is a link");
    EXPECT_SAYS(message_of([&] { check_writable(link); }), "it is a link");
    EXPECT_TRUE(fs::is_symlink(link));
    fs::remove(link);
  }
  EXPECT_EQ(read_json(file), 1);
  EXPECT_FALSE(fs::exists(folder.path() / "nowhere"));
  fs::create_symlink("/dev/null", folder.path() / "null");
  write_json(folder.path() / "null", 3);  // as a device is written
  fs::create_directory_symlink(folder.path(), folder.path() / "here");
  write_json(folder.path() / "here" / "x.json", 4);  // a folder may be anywhere
  EXPECT_EQ(read_json(file), 4);
}

TEST(WriteJson, RefusesNumbersThatAreNotFinite) {
  const Folder folder;
  const fs::path file = folder.path() / "x.json";
  write_json(file, 1);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    try {
      write_json(file, {{"rows", {{{"a", 1}}, {{"time_s", bad}}}}});
      FAIL();
    } catch (const std::logic_error& error) {
      EXPECT_SAYS(error.what(), "/rows/1/time_s");
    }
    EXPECT_EQ(read_json(file), 1);
  }
}

TEST(WriteJson, InvalidUtf8IsReplaced) {
  const Folder folder;
  write_json(folder.path() / "x.json", {{"reason", "driver: \xff"}});
  EXPECT_SAYS(read_json(folder.path() / "x.json")["reason"].get<std::string>(), "driver: ");
}

TEST(WriteJson, AFullDiskKeepsTheOldFile) {
  const Folder folder;
  const fs::path file = folder.path() / "x.json";
  write_json(file, "old");
  EXPECT_EQ(in_child([&] {
              const rlimit limit{4096, 4096};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              return message_of([&] {
                       write_json(file, std::string(100000, 'x'));
                     }).find("File too large") != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(read_json(file), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(WriteJson, ADeviceIsWrittenNotReplaced) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_SAYS(message_of([] { write_json("/dev/full", std::string(100000, 'x')); }),
              "No space left");
  write_json("/dev/null", 1);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(message_of([] { check_writable("/dev/null"); }), "accepted");
}

TEST(CheckWritable, TellsBeforehandWhatWriteJsonWouldMeet) {
  const Folder folder;
  const fs::path plain = folder.put("plain", "text");
  for (const fs::path& bad : {folder.path(), plain / "x.json", plain / "deeper" / "x.json",
                              fs::path("/proc/no/such/x.json"), fs::path("/proc/x.json"),
                              fs::path(folder.path().string() + "/"), fs::path()}) {
    EXPECT_SAYS(message_of([&] { check_writable(bad); }),
                bad.empty() ? "is empty" : "cannot be written");
    EXPECT_NE(message_of([&] { write_json(bad, 1); }), "accepted") << bad;
  }
  EXPECT_EQ(message_of([&] { check_writable(folder.path() / "a" / "b" / "x.json"); }), "accepted");
  EXPECT_FALSE(fs::exists(folder.path() / "a" / "b" / "x.json"));
  EXPECT_EQ(message_of([&] { check_writable(plain); }), "accepted");
  EXPECT_EQ(text_of(plain), "text");
  EXPECT_EQ(files_in(folder.path() / "a" / "b"), 0u);
}

TEST(CheckWritable, AReadOnlyFolder) {
  const Folder folder;
  fs::create_directories(folder.path() / "closed");
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec |
                                                fs::perms::others_read | fs::perms::others_exec);
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0 && ::seteuid(65534) != 0) return 50;  // root may write anywhere
              const std::string message =
                  message_of([&] { check_writable(folder.path() / "closed" / "x.json"); });
              return message.find("cannot be written (Permission denied)") != std::string::npos ? 0
                                                                                                : 1;
            }),
            0);
}

}  // namespace test_schema_files
}  // namespace assay
