#include "core/program/colour.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Colour, StatusWords) {
  EXPECT_EQ(coloured("ok", true), "\x1b[32mok\x1b[0m");
  EXPECT_EQ(coloured("unsupported", true), "\x1b[33munsupported\x1b[0m");
  for (const char* status : {"failed", "incorrect", "timeout"})
    EXPECT_EQ(coloured(status, true), std::string("\x1b[31m") + status + "\x1b[0m");
  EXPECT_EQ(coloured("failed", false), "failed");
}

}  // namespace
}  // namespace assay
