#include "core/base/standard_streams.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

namespace assay {
namespace test_standard_streams {

TEST(StandardStreams, ControlCharactersAreEscaped) {
  EXPECT_EQ(escape_controls("plain text, ä and → stay\n\ttoo"), "plain text, ä and → stay\n\ttoo");
  EXPECT_EQ(escape_controls("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(escape_controls("a\rb\x07\x7f"), "a\\x0db\\x07\\x7f");
  EXPECT_EQ(escape_controls("\u009b2J"), "\\x9b2J");
  EXPECT_EQ(escape_controls("\u202eabc\u2066"), "\\u202eabc\\u2066");
  EXPECT_EQ(escape_controls(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_controls("\xe2"), "\\xe2");  // cut: nothing is read behind the end
  EXPECT_EQ(escape_controls("case\x1e"), "case\x1e");
}

TEST(StandardStreams, ErrorsAreEscapedWhileTheObjectLives) {
  std::ostringstream seen;
  std::streambuf* const before = std::cerr.rdbuf(seen.rdbuf());
  {
    const EscapedErrors escaping;
    std::cerr << "a\x1b" << 'b' << '\x1b' << std::endl;
  }
  std::cerr << "\x1b";
  std::cerr.rdbuf(before);
  EXPECT_EQ(seen.str(), "a\\x1bb\\x1b\n\x1b");
}

}  // namespace test_standard_streams
}  // namespace assay
