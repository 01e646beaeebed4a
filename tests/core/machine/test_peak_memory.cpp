#include "core/machine/peak_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace assay {
namespace {

constexpr std::size_t size = std::size_t{64} << 20;

void touch() {
  std::vector<char> block(size, 1);
  volatile const char* const last = &block.back();
  EXPECT_EQ(*last, 1);
}

TEST(PeakMemory, IsThatOfTheWorkAlone) {
  if (!std::ofstream("/proc/self/clear_refs")) GTEST_SKIP() << "the system keeps no peak";
  touch();
  const PeakMemory before;
  ASSERT_TRUE(before.bytes());
  EXPECT_LT(*before.bytes(), size / 4.0) << "an earlier peak counts";
  touch();  // is freed again, and counts
  EXPECT_GT(*before.bytes(), 0.9 * size);
  EXPECT_LT(*before.bytes(), 1.5 * size);
}

}  // namespace
}  // namespace assay
