#include "comm/algorithms/exascale_leaders.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_exascale_leaders {

using Ranks = std::vector<int>;

TEST(ExascaleLeaders, AreTwoOnEachSocket) {
  // Six ranks as on Summit, three on each socket.
  EXPECT_EQ(exascale_leaders({0, 0, 0, 1, 1, 1}), (Ranks{0, 1, 3, 4}));
  // Dealt in turn to the sockets.
  EXPECT_EQ(exascale_leaders({0, 1, 0, 1, 0, 1}), (Ranks{0, 2, 1, 3}));
  // More sockets than two: the first two that have two.
  EXPECT_EQ(exascale_leaders({0, 1, 1, 2, 2, 3, 3}), (Ranks{1, 2, 3, 4}));
}

TEST(ExascaleLeaders, AreTwoOfEachHalfWhereSocketsAreNotKnown) {
  EXPECT_EQ(exascale_leaders({-1, -1, -1, -1}), (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(exascale_leaders({-1, -1, -1, -1, -1, -1}), (Ranks{0, 1, 3, 4}));
  EXPECT_EQ(exascale_leaders({0, 0, 0, 0, 0, 0, 0, 0}), (Ranks{0, 1, 4, 5}));
  EXPECT_EQ(exascale_leaders({0, 0, 0, 0, 1}), (Ranks{0, 1, 2, 3}));
}

}  // namespace test_exascale_leaders
}  // namespace assay
