// Messages quote any value, and stay short, valid and on one line.
#include "core/base/message.hpp"

#include <gtest/gtest.h>

#include "core/base/standard_streams.hpp"

namespace assay {
namespace test_message {

TEST(Message, OrdinaryTextIsUnchanged) {
  for (const char* text : {"", "unknown flag '--x'. See --help.", "3 µs … 4 µs", "a\ta"})
    EXPECT_EQ(message_text(text), text);
}

TEST(Message, LongWordsAreShortened) {
  const std::string text = message_text("--problem '" + std::string(5000, 'x') + "' is unknown.");
  EXPECT_LT(text.size(), 600U);
  EXPECT_TRUE(text.starts_with("--problem 'xxx"));
  EXPECT_NE(text.find("bytes)"), std::string::npos);
  EXPECT_TRUE(text.ends_with("xxx' is unknown."));
  // The names of files stay whole.
  EXPECT_EQ(message_text(std::string(500, 'n')), std::string(500, 'n'));
}

TEST(Message, ManyWordsLoseTheirMiddle) {
  std::string many = "FILE at /cases/0: ";
  for (int i = 0; i < 5000; ++i) many += "µ ";
  const std::string text = message_text(many + "Give one.");
  EXPECT_LT(text.size(), 4000U);
  EXPECT_TRUE(text.starts_with("FILE at /cases/0: "));
  EXPECT_TRUE(text.ends_with("Give one."));
  EXPECT_EQ(escape_controls(text), text);  // no character was cut
}

TEST(Message, LineBreaksOfValuesAreEscaped) {
  EXPECT_EQ(message_text("unknown suite 'a\nb'."), "unknown suite 'a\\nb'.");
  EXPECT_EQ(message_text("'a\n' is no file."), "'a\\n' is no file.");
  // Further faults of one file have lines of their own.
  const std::string faults = "s.json at /a: wrong.\ns.json at /b: wrong.\n… and 3 more.";
  EXPECT_EQ(message_text(faults), faults);
}

TEST(Message, BytesThatAreNoCharactersAreEscaped) {
  for (const auto& [text, shown] : {std::pair("a\xff", "a\\xff"),
                                    {"\xc3", "\\xc3"},
                                    {"\xc0\xaf", "\\xc0\\xaf"},
                                    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                                    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
                                    {"\xe2\x82", "\\xe2\\x82"}}) {
    EXPECT_EQ(message_text(text), shown);
    EXPECT_EQ(escape_controls(text), shown);
  }
  for (const char* valid : {"é", "€", "𝄞", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(message_text(valid), valid);
}

}  // namespace test_message
}  // namespace assay
