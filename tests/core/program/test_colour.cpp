#include "core/program/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace assay {
namespace test_colour {

TEST(Colour, StatusWords) {
  EXPECT_EQ(add_colour("ok", true), "\x1b[32mok\x1b[0m");
  EXPECT_EQ(add_colour("unsupported", true), "\x1b[33munsupported\x1b[0m");
  for (const char* status : {"failed", "incorrect", "timeout"})
    EXPECT_EQ(add_colour(status, true), std::string("\x1b[31m") + status + "\x1b[0m");
  EXPECT_EQ(add_colour("failed", false), "failed");
}

/// The reading end of a pseudo-terminal is no pipe: what a rank of Open MPI has for its output.
TEST(Colour, OnTerminalsButNotUnderALauncher) {
  for (const char* name : {"NO_COLOR", "TERM", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})
    unsetenv(name);
  const int controller = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(controller, 0);
  ASSERT_EQ(grantpt(controller) | unlockpt(controller), 0);
  const int terminal = open(ptsname(controller), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  EXPECT_TRUE(colour_wanted(terminal));
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_FALSE(colour_wanted(terminal));
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  close(terminal);
  close(controller);
}

}  // namespace test_colour
}  // namespace assay
