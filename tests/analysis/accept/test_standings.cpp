#include <gtest/gtest.h>

#include <random>

#include "analysis/accept/checks.hpp"

namespace assay {
namespace {

TEST(Standings, AreTheStandingOfEach) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<> times(0, 0.1);
  std::uniform_int_distribution<> tied(1, 3);
  for (const bool ties : {false, true})
    for (std::size_t count = 0; count < 40; ++count) {
      std::vector<double> values(count);
      for (double& value : values) value = ties ? tied(random) : times(random);
      const std::vector<Standing> all = standings(values);
      ASSERT_EQ(all.size(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const Standing alone = standing(values, i);
        EXPECT_EQ(all[i].others, alone.others) << i << " of " << count;
        EXPECT_EQ(all[i].deviation, alone.deviation) << i << " of " << count;
      }
    }
}

}  // namespace
}  // namespace assay
