// The quick parser: what it takes, it takes as nlohmann's does.
#include "core/result/quick_json.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace assay {
namespace test_quick_json {

using nlohmann::json;

class QuickJson : public testing::Test {
 protected:
  void SetUp() override {
    if (!quick_json("null")) GTEST_SKIP() << "Assay was built without simdjson";
  }
};

TEST_F(QuickJson, MakesWhatTheSlowParserMakes) {
  for (const std::string text : {"null",
                                 " true ",
                                 "false",
                                 "0",
                                 "-0",
                                 "-7",
                                 "18",
                                 "123456789012345678",
                                 "9223372036854775807",
                                 "-9223372036854775808",
                                 "18446744073709551615",
                                 "1.5",
                                 "-0.0",
                                 "1e3",
                                 "1E-3",
                                 "1.25e+2",
                                 "4.9e-300",
                                 "0.1",
                                 "2.2250738585072014e-308",
                                 R"("")",
                                 R"("plain")",
                                 R"("\"\\\/\b\f\n\r\t")",
                                 R"("\u00e4\ud83d\ude00")",
                                 "\"\u00e4 \u4e16\"",
                                 "[]",
                                 "[ ]",
                                 "[1,2.0,[null]]",
                                 "{}",
                                 "{ }",
                                 R"({"b":1,"a":{"c":[]}})",
                                 " {\n\"a\" : [ 1 , 2 ]\t}\r\n"}) {
    const auto made = quick_json(text);
    ASSERT_TRUE(made) << text;
    EXPECT_EQ(made->dump(), json::parse(text).dump()) << text;
    // nlohmann's -0 has a sign: equal, and written alike.
    EXPECT_TRUE(text == "-0" || made->type() == json::parse(text).type()) << text;
  }
}

TEST_F(QuickJson, LeavesTheRest) {
  std::string deep(5000, '[');
  deep += std::string(5000, ']');
  for (const std::string& text : {std::string(""),
                                  std::string(" "),
                                  std::string("nul"),
                                  std::string("01"),
                                  std::string("-"),
                                  std::string("1."),
                                  std::string(".5"),
                                  std::string("+1"),
                                  std::string("1e"),
                                  std::string("1e999"),
                                  std::string("123456789012345678901234567890"),
                                  std::string("NaN"),
                                  std::string("\"a"),
                                  std::string("\"\x01\""),
                                  std::string("\"\xff\""),
                                  std::string(R"("\x")"),
                                  std::string(R"("\ud800")"),
                                  std::string("\"\\"),
                                  std::string("[1,]"),
                                  std::string("[1"),
                                  std::string("[1 2]"),
                                  std::string(R"({"a"})"),
                                  std::string(R"({"a":1,})"),
                                  std::string(R"({"a":1,"a":2})"),
                                  std::string(R"({a:1})"),
                                  std::string("1 2"),
                                  std::string("1\0", 2),
                                  std::string("\xef\xbb\xbf"
                                              "1"),
                                  deep})
    EXPECT_FALSE(quick_json(text)) << text;
}

/// Each list has two elements: else most bytes are digits of samples.
json shorten(json value) {
  if (value.is_array() && value.size() > 2) value.erase(value.begin() + 2, value.end());
  if (value.is_structured())
    for (json& part : value) part = shorten(std::move(part));
  return value;
}

TEST_F(QuickJson, TakesNoDamagedTextThatTheSlowParserRefuses) {
  std::ifstream stream("tests/golden/results/statistics_1.json");
  const json original = json::parse(stream);
  const std::string whole = shorten(original["rows"][0]).dump();
  ASSERT_EQ(quick_json(whole)->dump(), whole);
  std::mt19937 random(1);
  static const std::string bytes = "\"\\{}[],:-+.eE0123456789 \n\ttrufalsn\x01\xc3\xa4\xff";
  std::size_t taken = 0, left = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    const std::size_t at = random() % text.size();
    const char byte = bytes[random() % bytes.size()];
    switch (random() % 3) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      default:
        text.erase(at, 1 + random() % 3);
    }
    const auto made = quick_json(text);
    ++(made ? taken : left);
    if (!made) continue;
    const json slow = json::parse(text, nullptr, false);
    ASSERT_FALSE(slow.is_discarded()) << text;
    ASSERT_EQ(made->dump(), slow.dump()) << text;
  }
  EXPECT_GT(taken, 2000U);
  EXPECT_GT(left, 2000U);
}

}  // namespace test_quick_json
}  // namespace assay
