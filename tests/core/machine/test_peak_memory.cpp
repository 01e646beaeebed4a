#include "core/machine/peak_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace assay {
namespace test_peak_memory {

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

/// Small blocks, of which an allocator keeps the memory where something lies above them.
std::vector<std::vector<char>> small_blocks() {
  constexpr std::size_t each = 1000;
  std::vector<std::vector<char>> blocks(size / each);
  for (std::vector<char>& block : blocks) block.assign(each, 1);
  return blocks;
}

TEST(PeakMemory, CountsMemoryThatWasFreedBefore) {
  if (!std::ofstream("/proc/self/clear_refs")) GTEST_SKIP() << "the system keeps no peak";
  std::vector<char> above;
  {
    const auto blocks = small_blocks();
    above.assign(1000, 1);
  }
  const PeakMemory before;
  const auto blocks = small_blocks();
  EXPECT_GT(before.bytes().value_or(0), 0.9 * size);
}

}  // namespace test_peak_memory
}  // namespace assay
