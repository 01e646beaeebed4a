#include "core/base/error.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_error {

TEST(ExitCode, TheGravestWins) {
  // The order of design.md: 2, 3, 7, 6, 4, 5, 0.
  const ExitCode order[] = {ExitCode::usage,        ExitCode::incorrect, ExitCode::failed,
                            ExitCode::incomparable, ExitCode::slower,    ExitCode::unconfirmed,
                            ExitCode::inconclusive, ExitCode::ok};
  for (std::size_t i = 0; i < std::size(order); ++i)
    for (std::size_t j = 0; j < std::size(order); ++j)
      EXPECT_EQ(find_gravest(order[i], order[j]), order[std::min(i, j)]);
  EXPECT_EQ(find_gravest({}), ExitCode::ok);
  EXPECT_EQ(find_gravest({ExitCode::ok, ExitCode::failed, ExitCode::incorrect, ExitCode::slower}),
            ExitCode::incorrect);
}

}  // namespace test_error
}  // namespace assay
