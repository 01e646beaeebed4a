#include "core/measure/shared_contention.hpp"

#include <gtest/gtest.h>

#include "thread_communicator.hpp"

namespace assay {
namespace {

Contention average(double waiting, double idle, double own) {
  Contention made{waiting, 0};
  made.idle = idle;
  made.own = own;
  return made;
}

TEST(SharedContention, RanksOfAHostShareTheirWork) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    Contention mine = average(1, 0, 1);  // each on a processor of its own, on a machine of two
    share(mine, ranks, 2);
    EXPECT_NEAR(*mine.foreign, 0, 1e-9);
    EXPECT_NEAR(*mine.own, 2, 1e-9);
    // Where one sees other work, all tell it.
    Contention other = average(1, 0, ranks.rank() == 0 ? 0.5 : 1);
    share(other, ranks, 2);
    EXPECT_NEAR(*other.foreign, 0.5, 1e-9);
    // One that cannot tell leaves it unknown.
    Contention unknown = average(1, 0, 1);
    if (ranks.rank() == 1) unknown.own.reset();
    share(unknown, ranks, 2);
    EXPECT_FALSE(unknown.foreign);
  });
}

}  // namespace
}  // namespace assay
