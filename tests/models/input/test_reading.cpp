#include "models/input/reading.hpp"

#include <gtest/gtest.h>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace {

/// A fault of the set is found by all ranks, and a sample by those that read it.
TEST(Reading, CountsEachBadSampleOnce) {
  testing_fakes::on_threads(3, [](Communicator& ranks) {
    const std::vector<std::int64_t> mine =
        ranks.rank() == 0 ? std::vector<std::int64_t>{3, 5} : std::vector<std::int64_t>{5};
    EXPECT_EQ(number_of({{"a", 1, mine}}, ranks), 3);
    EXPECT_EQ(number_of({{"a", 1, mine}, {"a", 1, {ranks.rank() + 4}}}, ranks), 5);
    EXPECT_EQ(number_of({{"a", 1, mine}, {"b", 0, {5}}}, ranks), 4);
    EXPECT_EQ(number_of({}, ranks), 0);
  });
}

}  // namespace
}  // namespace assay
