// All ranks learn what each has found, and decide alike.
#include "core/measure/agreement.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_agreement {

using testing_fakes::on_threads;

/// Calls `expect` on each of 3 ranks with the agreement on these findings.
template <class Expect>
void agree_on(const std::vector<std::string>& findings, const Expect& expect) {
  on_threads(3, [&](Communicator& ranks) {
    expect(Agreement(findings.at(static_cast<std::size_t>(ranks.rank())), ranks));
  });
}

TEST(Agreement, TheFirstFindingIsToldWithItsPlace) {
  agree_on({"", "no memory", "no file"}, [](const Agreement& all) {
    EXPECT_FALSE(all.none());
    EXPECT_FALSE(all.all());
    EXPECT_EQ(all.rank(), 1U);
    EXPECT_EQ(all.text(), "no memory");
    EXPECT_EQ(all.place(), "rank 1 on threads0");
    EXPECT_EQ(all.describe(), "rank 1 on threads0: no memory");
  });
  agree_on({"a", "b", "c"}, [](const Agreement& all) {
    EXPECT_TRUE(all.all());
    EXPECT_EQ(all.describe(), "rank 0 on threads0: a");
  });
}

TEST(Agreement, AFindingOfAllRanksNeedsNoPlace) {
  agree_on({"no file", "no file", "no file"}, [](const Agreement& all) {
    EXPECT_TRUE(all.all());
    EXPECT_EQ(all.describe(), "no file");
  });
  agree_on({"", "", ""}, [](const Agreement& all) {
    EXPECT_TRUE(all.none());
    EXPECT_EQ(all.text(), "");
    EXPECT_EQ(all.describe(), "");
  });
}

TEST(Agreement, NumbersArriveExactly) {
  on_threads(3, [](Communicator& ranks) {
    const std::vector<double> numbers{-1.0 / 3, 9007199254740992, 1e-300};
    EXPECT_EQ(allgather_numbers(numbers[static_cast<std::size_t>(ranks.rank())], ranks), numbers);
  });
  EXPECT_EQ(allgather_numbers(7, *make_serial_communicator()), std::vector<double>{7});
}

TEST(Agreement, ListsArriveExactly) {
  on_threads(3, [](Communicator& ranks) {
    const std::vector<std::vector<std::uint64_t>> lists{{0, UINT64_MAX}, {}, {10, 0, 1}};
    EXPECT_EQ(allgather_lists(lists[static_cast<std::size_t>(ranks.rank())], ranks), lists);
  });
}

TEST(Agreement, DocumentsArriveByRank) {
  on_threads(3, [](Communicator& ranks) {
    const std::vector<nlohmann::json> all = allgather_json(
        {{"rank", ranks.rank()}, {"driver", ranks.rank() == 1 ? "bad \xff" : "good"}}, ranks);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[2].at("rank"), 2);
    EXPECT_EQ(all[1].at("driver"), "bad \xEF\xBF\xBD");
  });
}

}  // namespace test_agreement
}  // namespace assay
