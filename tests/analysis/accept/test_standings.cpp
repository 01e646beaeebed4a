#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/accept/checks.hpp"
#include "core/base/statistics.hpp"

namespace assay {
namespace test_standings {

/// The standing of one value, by the definition.
Standing standing(const std::vector<double>& values, std::size_t index) {
  std::vector<double> others;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i != index) others.push_back(std::log(values[i]));
  if (others.size() < least_others) return {};
  const double centre = median(others), spread = 1.4826 * mad(others);
  Standing position{std::exp(centre), {}};
  if (spread > 0 && values.size() >= least_for_deviation)
    position.deviation = (std::log(values[index]) - centre) / spread;
  return position;
}

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

}  // namespace test_standings
}  // namespace assay
