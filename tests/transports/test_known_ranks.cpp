#include "comm/known_ranks.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_known_ranks {

using testing_fakes::on_threads;

Options imposing(const std::string& ranks) {
  Options options;
  options.settings["ranks_per_node"] = ranks;
  return options;
}

TEST(KnownRanks, NodesAreThoseFoundOrThoseImposed) {
  on_threads(
      5,
      [](Communicator& known) {
        EXPECT_EQ(read_ranks(known, {}).nodes, (std::vector<int>{0, 0, 1, 1, 2}));
        EXPECT_EQ(read_ranks(known, imposing("0")).nodes, (std::vector<int>{0, 0, 1, 1, 2}));
        EXPECT_EQ(read_ranks(known, imposing("3")).nodes, (std::vector<int>{0, 0, 0, 1, 1}));
        EXPECT_EQ(read_ranks(known, imposing("9")).nodes, (std::vector<int>(5, 0)));
      },
      2);
}

TEST(KnownRanks, PartsCountTheirNodesAnewInTheOrderOfTheKeys) {
  on_threads(5, [](Communicator& known) {
    const Ranks all = read_ranks(known, imposing("2"));  // 0 0 1 1 2
    const Ranks part = select_part(all, known.rank() == 0 ? 1 : 0, -known.rank());
    if (known.rank() == 0) {
      EXPECT_EQ(part.nodes, std::vector<int>{0});
    } else {
      EXPECT_EQ(part.nodes, (std::vector<int>{2, 1, 1, 0}));  // ranks 4 3 2 1 on nodes 2 1 1 0
    }
    const Ranks far = select_part(all, known.node() == 0 && known.rank() < 2 ? 0 : 1, known.rank());
    if (known.rank() >= 2) {
      EXPECT_EQ(far.nodes, (std::vector<int>{0, 0, 1}));
    }
  });
}

TEST(KnownRanks, RanksPerNodeIsANumber) {
  const auto known = make_serial_communicator();
  for (const char* wrong : {"two", "-1", "2x", ""})
    EXPECT_THROW(read_ranks(*known, imposing(wrong)), InputError) << wrong;
}

TEST(KnownRanks, BytesBecomeTextAndComeBack) {
  std::vector<char> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(unhex(hex(bytes)), bytes);
  EXPECT_EQ(hex(std::vector<char>{'\0', '\xff', 'A'}), "00ff41");
  EXPECT_THROW(unhex("0g"), CaseError);
}

}  // namespace test_known_ranks
}  // namespace assay
