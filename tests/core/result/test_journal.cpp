#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/result/journal.hpp"

namespace assay {
namespace test_journal {

namespace fs = std::filesystem;
using nlohmann::json;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("assay_journal_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "journal.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static json event(int number) {
    return {{"event", "row"}, {"number", number}, {"text", "line\nbreak \u00e9"}};
  }
  /// A line as a journal has it.
  std::string line(int number) const {
    const fs::path other = folder_ / "line";
    fs::remove(other);
    Journal(other).append(event(number));
    return text_of(other);
  }
  void put(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  std::string get() const { return text_of(file_); }
  static std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder_, file_;
};

TEST_F(JournalTest, KeepsEventsInOrder) {
  {
    Journal journal(file_);
    for (int i = 0; i < 20; ++i) journal.append(event(i));
  }
  Journal(file_).append(event(20));
  const auto events = read_journal(file_);
  ASSERT_EQ(events.size(), 21u);
  for (int i = 0; i <= 20; ++i) EXPECT_EQ(events[static_cast<std::size_t>(i)], event(i));
}

TEST_F(JournalTest, SurvivesATornLastLineAtEveryByte) {
  const std::string whole = line(1) + line(2), last = line(3);
  for (std::size_t torn = 0; torn <= last.size(); ++torn) {
    put(whole + last.substr(0, torn));
    // The newline alone adds nothing: an event's text is complete with its last brace.
    const std::size_t expected = torn + 1 >= last.size() ? 3 : 2;
    EXPECT_EQ(read_journal(file_).size(), expected) << torn;
    Journal(file_).append(event(4));
    const auto events = read_journal(file_);
    ASSERT_EQ(events.size(), expected + 1) << torn;
    EXPECT_EQ(events.back(), event(4));
  }
}

TEST_F(JournalTest, EndsALongTornLine) {
  put(line(1) + "{\"crc32\":\"12345678\",\"long\":\"" + std::string(200000, 'x'));
  Journal(file_).append(event(2));
  EXPECT_EQ(read_journal(file_).size(), 2u);
}

TEST_F(JournalTest, EmptyAndNewFilesHaveNoEvents) {
  { Journal journal(file_); }
  EXPECT_TRUE(read_journal(file_).empty());
  put("{\"eve");
  { Journal journal(file_); }
  EXPECT_TRUE(read_journal(file_).empty());
}

TEST_F(JournalTest, NamesTheDamagedLine) {
  for (const std::string& damage :
       {std::string("{\"event\":\"ro"), std::string("null"), std::string("[1]"),
        std::string("{\"no\":1}"), std::string("{\"event\":7}"), std::string("\0\0\0", 3),
        std::string()}) {
    put(line(1) + damage + "\n" + line(3));
    try {
      read_journal(file_);
      FAIL() << damage;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(file_.string()), std::string::npos);
    }
  }
}

TEST_F(JournalTest, EveryLineHasTheKnownChecksum) {
  Journal(file_).append({{"event", "end"}});
  // zlib.crc32(b'"event":"end"}')
  EXPECT_EQ(get(), "{\"crc32\":\"d72f7fd1\",\"event\":\"end\"}\n");
}

TEST_F(JournalTest, EveryChangedByteOfALineIsNoticed) {
  {
    Journal journal(file_);
    for (int i = 1; i <= 3; ++i) journal.append(event(i));
  }
  const std::string text = get();
  const std::size_t second = text.find('\n') + 1, third = text.find('\n', second) + 1;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (text[place] == '\n') continue;
    const std::size_t line = place < second ? 1 : place < third ? 2 : 3;
    for (const char other : {'x', '0', '"', '\n'}) {
      if (text[place] == other) continue;
      std::string changed = text;
      changed[place] = other;
      put(changed);
      try {
        read_journal(file_);
        FAIL() << place << other;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(": line " + std::to_string(line) + " "),
                  std::string::npos)
            << error.what();
      }
    }
  }
}

TEST_F(JournalTest, ALineWithoutChecksumIsDamage) {
  put(line(1) + event(2).dump() + "\n");
  EXPECT_THROW(read_journal(file_), InputError);
  put(event(1).dump() + "\n");
  EXPECT_THROW(read_journal(file_), InputError);
  EXPECT_THROW(Journal{file_}, InputError);
}

TEST_F(JournalTest, AWholeLastLineWithAWrongChecksumIsDamageNotTorn) {
  Journal(file_).append(event(1));
  Journal(file_).append(event(2));
  std::string text = get();
  text.pop_back();
  text[text.rfind("\"number\":2") + 9] = '3';
  put(text);
  EXPECT_THROW(read_journal(file_), InputError);
  EXPECT_THROW(Journal{file_}, InputError);
  EXPECT_EQ(get(), text);
}

TEST_F(JournalTest, WhatIsNoJournalIsNotTouched) {
  for (const std::string& text :
       {std::string("notes\nthe last line"), std::string("notes\n"), std::string("notes"),
        std::string("{\"a\":1}"), std::string("{\n \"a\": 1\n}\n"), std::string("\n"),
        std::string("[1,2"), std::string("{\"a\":1}\nx"), std::string(100000, 'x')}) {
    put(text);
    EXPECT_THROW(Journal{file_}, InputError) << text.substr(0, 30);
    EXPECT_EQ(get(), text);
  }
}

TEST_F(JournalTest, AbsurdNestingIsDamage) {
  put("{\"event\":" + std::string(100000, '[') + std::string(100000, ']') + "}\n");
  EXPECT_THROW(read_journal(file_), InputError);
}

TEST_F(JournalTest, RefusesWhatCannotBeOpened) {
  EXPECT_THROW(Journal{folder_}, InputError);
  EXPECT_THROW(Journal{folder_ / "missing" / "journal"}, InputError);
  EXPECT_THROW(read_journal(folder_ / "missing"), InputError);
  EXPECT_THROW(read_journal(folder_), InputError);
}

TEST_F(JournalTest, OnlyARegularFileIsAJournal) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(Journal{folder_ / "pipe"}, InputError);
  EXPECT_THROW(read_journal(folder_ / "pipe"), InputError);
  EXPECT_THROW(Journal{"/dev/null"}, InputError);
  EXPECT_THROW(read_journal("/dev/zero"), InputError);
  Journal(file_).append(event(0));
  fs::create_symlink(file_, folder_ / "link");
  EXPECT_THROW(Journal{folder_ / "link"}, InputError) << "it is another run's";
  fs::create_symlink(folder_ / "nowhere", folder_ / "dangling");
  EXPECT_THROW(Journal{folder_ / "dangling"}, InputError);
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
}

TEST_F(JournalTest, OneWriterExcludesTheOthers) {
  put("");  // a process died before its first line
  {
    Journal alone(file_, Journal::Writers::one);
    EXPECT_THROW(Journal(file_, Journal::Writers::one), InputError) << "not even when it is empty";
    alone.append(event(0));
    alone.append(event(1));
    EXPECT_THROW(Journal(file_, Journal::Writers::one), InputError);
  }
  EXPECT_EQ(read_journal(file_).size(), 2u);
  EXPECT_THROW(Journal(file_, Journal::Writers::one), InputError) << "its rows are another's";
  Journal(file_).append(event(2));
  EXPECT_EQ(read_journal(file_).size(), 3u);
}

/// They begin at the same time; in each round one of them gets the name.
TEST_F(JournalTest, OfSeveralThatBeginAtOnceOneWrites) {
  for (int round = 0; round < 20; ++round) {
    fs::remove(file_);
    int gate[2], done[2];
    ASSERT_EQ(::pipe(gate), 0);
    ASSERT_EQ(::pipe(done), 0);
    std::vector<pid_t> children;
    for (int w = 0; w < 3; ++w) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      char byte = 0;
      ::close(gate[1]);
      ::close(done[1]);
      (void)!::read(gate[0], &byte, 1);
      int result = 1;
      try {
        Journal journal(file_, Journal::Writers::one);
        (void)!::read(done[0], &byte, 1);  // not before all have tried
        result = 0;
      } catch (const InputError&) {
      }
      ::_exit(result);
    }
    ::close(gate[1]);
    int won = 0, status = 0;
    for (int ended = 0; ended < 2; ++ended) {
      ::wait(&status);
      won += status == 0 ? 1 : 0;
    }
    ::close(done[1]);
    ::wait(&status);
    won += status == 0 ? 1 : 0;
    for (const int end : {gate[0], done[0]}) ::close(end);
    ASSERT_EQ(won, 1);
  }
}

TEST_F(JournalTest, InvalidUtf8DoesNotLoseTheEvent) {
  Journal(file_).append({{"event", "row"}, {"reason", "driver said \xff\xfe"}});
  EXPECT_EQ(read_journal(file_).size(), 1u);
}

TEST_F(JournalTest, ManyProcessesAppendWholeLines) {
  constexpr int writers = 4, each = 40;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0; i < each; ++i) {
        Journal journal(
            file_);  // opened anew each time: ending a torn line must not hurt another writer's
        journal.append({{"event", "row"},
                        {"writer", w},
                        {"i", i},
                        {"pad", std::string(static_cast<std::size_t>(w * 5000), 'x')}});
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<int> next(writers, 0);
  for (const json& object : read_journal(file_))
    EXPECT_EQ(object["i"], next[object["writer"].get<std::size_t>()]++);
  EXPECT_EQ(next, std::vector<int>(writers, each));
}

TEST_F(JournalTest, AFullDiskIsAnErrorAndKeepsEarlierLines) {
  const pid_t child = ::fork();
  if (child == 0) {
    int result = 1;
    try {
      Journal journal(file_);
      const rlimit limit{1000, 1000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      for (int i = 0; i < 1000; ++i) journal.append(event(i));
    } catch (const std::system_error& error) {
      result = error.code().value() == EFBIG || error.code().value() == ENOSPC ? 0 : 2;
    } catch (...) {
      result = 3;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "a signal ended it";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto events = read_journal(file_);
  ASSERT_GT(events.size(), 5u);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i], event(static_cast<int>(i)));
  EXPECT_EQ(get().back(), '\n');  // nothing torn is left
  Journal(file_).append(event(0));
  EXPECT_EQ(read_journal(file_).size(), events.size() + 1);
}

}  // namespace test_journal
}  // namespace assay
