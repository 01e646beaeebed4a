#include "comm/slots.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_slots {

TEST(Slots, AreUsedAgainAndStayWhereTheyAre) {
  Slots<int> slots;
  const std::uintptr_t first = slots.take(), second = slots.take();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  int* const where = &slots[first];
  slots[first] = 7;
  for (int i = 0; i < 100; ++i) slots.take();
  EXPECT_EQ(&slots[first], where);
  EXPECT_EQ(slots[first], 7);
  slots.give_back(second);
  EXPECT_EQ(slots.take(), second);
}

}  // namespace test_slots
}  // namespace assay
