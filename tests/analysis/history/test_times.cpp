#include "analysis/history/points.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace assay {
namespace test_times {

TEST(Times, DatesAndTimesInUtc) {
  EXPECT_EQ(parse_time("1970-01-02", "x"), 86400);
  EXPECT_EQ(parse_time("2026-11-21T07:04:45.5Z", "x"), 1795244685.5);
  for (const char* wrong : {"", "2026-13-01", "2026-02-30", "2026-01-01T25:00:00Z",
                            "2026-01-01 08:00", "2026-01-01T08:00:00", "2026-01-01T08:00:00+01:00"})
    EXPECT_THROW(parse_time(wrong, "x"), InputError) << wrong;
}

}  // namespace test_times
}  // namespace assay
