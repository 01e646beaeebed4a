// Tensors of a step share memory, but never at the same node.

#include "models/network/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay {
namespace test_memory_plan {

std::size_t in_lines(std::size_t bytes) {
  return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
}

TEST(MemoryPlan, TensorsOfOneNodeNeverOverlap) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Lifetime> tensors(1 + random() % 60);
    for (Lifetime& of : tensors) {
      of.bytes = random() % 5000;
      of.first = random() % 40;
      of.last = of.first + random() % 20;
    }
    const MemoryPlan plan = plan_memory(tensors);
    std::size_t most = 0;  // bytes that are needed at once, whatever the plan
    for (std::size_t node = 0; node < 60; ++node) {
      std::size_t bytes = 0;
      for (const Lifetime& of : tensors)
        if (of.first <= node && node <= of.last) bytes += in_lines(of.bytes);
      most = std::max(most, bytes);
    }
    EXPECT_GE(plan.bytes, most);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % plan_alignment, 0U);
      EXPECT_LE(plan.offsets[i] + tensors[i].bytes, plan.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together =
            tensors[i].first <= tensors[j].last && tensors[j].first <= tensors[i].last;
        const bool overlap = plan.offsets[i] < plan.offsets[j] + tensors[j].bytes &&
                             plan.offsets[j] < plan.offsets[i] + tensors[i].bytes;
        EXPECT_FALSE(together && overlap) << i << " " << j;
      }
    }
  }
}

TEST(MemoryPlan, ChainsNeedTwoTensors) {
  std::vector<Lifetime> chain;
  for (std::size_t i = 0; i < 50; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(plan_memory(chain).bytes, 2 * in_lines(1000));
  EXPECT_EQ(plan_memory({}).bytes, 0U);
}

}  // namespace test_memory_plan
}  // namespace assay
