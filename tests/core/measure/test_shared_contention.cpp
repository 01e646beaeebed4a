#include "core/measure/shared_contention.hpp"

#include <gtest/gtest.h>

#include "thread_communicator.hpp"

namespace assay {
namespace test_shared_contention {

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
    // If one rank sees other work, all report it.
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

TEST(SharedContention, WorkOnProcessorsThatNoRankMayUseDisturbsNone) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    // Each rank is bound to a processor of its own; a stranger fills processor 2, and 3 idles.
    Contention mine = average(1, 0, ranks.rank() == 0 ? 1 : 0.75);
    mine.idle = 1.25;
    mine.processors = {{0, {}}, {1, {0.25, 0}}, {2, {0, 0.5}}, {3, {1, 0}}};
    mine.allowed = {ranks.rank()};
    mine.throttled = ranks.rank() == 0 ? std::nullopt : std::optional(0.2);
    Contention elsewhere = mine, here = mine;
    share(elsewhere, ranks, 4);
    EXPECT_NEAR(*elsewhere.foreign, 0, 1e-9);
    EXPECT_NEAR(*elsewhere.stolen, 0, 1e-9);
    EXPECT_NEAR(*elsewhere.throttled, 0.2, 1e-9);
    // On the processor of one of them it disturbs all.
    here.processors[1].idle = 0;
    share(here, ranks, 4);
    EXPECT_NEAR(*here.foreign, 0.25, 1e-9);
    // A rank that may use all processors makes the whole machine count.
    if (ranks.rank() == 1) mine.allowed = {0, 1, 2, 3};
    share(mine, ranks, 4);
    EXPECT_NEAR(*mine.foreign, 1, 1e-9);
  });
}

}  // namespace test_shared_contention
}  // namespace assay
