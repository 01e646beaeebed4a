#include "comm/algorithms/registered_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_registered_memory {

Buffer bytes_of(void* data, std::int64_t count) { return {data, count, DataType::s8}; }

/// Each rank tells the other a place in its memory, as the ranks of a call do.
RegisteredMemory::Place other_place(Communicator& ranks, RegisteredMemory::Place mine) {
  const auto told =
      ranks.allgather(std::to_string(mine.object) + " " + std::to_string(mine.offset));
  const std::string& text = told[static_cast<std::size_t>(1 - ranks.rank())];
  return {std::stoul(text), std::stoul(text.substr(text.find(' ')))};
}

TEST(RegisteredMemory, IsSeenByTheOthersOnceItIsShown) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    RegisteredMemory memory(ranks);
    const auto unused = ranks.rank() == 0 ? memory.allocate(10) : nullptr;  // numbers may differ
    const auto mine = memory.allocate(5000);
    auto* const data = static_cast<std::byte*>(mine.get());
    EXPECT_EQ(memory.place(bytes_of(data, 5000)).object, 0u) << "not shown yet";
    memory.show();
    const RegisteredMemory::Place place = memory.place(bytes_of(data + 100, 50));
    EXPECT_NE(place.object, 0u);
    EXPECT_EQ(place.offset, 100u);
    data[100] = std::byte(40 + ranks.rank());
    std::byte* const theirs = memory.at(1 - ranks.rank(), other_place(ranks, place));
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(*theirs, std::byte(41 - ranks.rank()));
    ranks.barrier();
    *theirs = std::byte(7);
    ranks.barrier();
    EXPECT_EQ(data[100], std::byte(7));
    memory.show();  // nothing new
  });
}

TEST(RegisteredMemory, HasNoPlaceForOtherMemory) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    RegisteredMemory memory(ranks);
    auto mine = memory.allocate(4096);
    memory.show();
    auto* const data = static_cast<std::byte*>(mine.get());
    std::byte other[8];
    EXPECT_EQ(memory.place(bytes_of(other, 8)).object, 0u);
    EXPECT_EQ(memory.place(bytes_of(nullptr, 0)).object, 0u);
    EXPECT_EQ(memory.place(bytes_of(data + 4000, 97)).object, 0u) << "ends outside";
    EXPECT_EQ(memory.place(bytes_of(data - 1, 1)).object, 0u);
    EXPECT_NE(memory.place(bytes_of(data + 4000, 96)).object, 0u);
    EXPECT_EQ(memory.at(1 - ranks.rank(), {}), nullptr);
    mine.reset();
    EXPECT_EQ(memory.place(bytes_of(data, 10)).object, 0u) << "it is gone";
    EXPECT_THROW(memory.allocate(std::size_t{1} << 46), CaseError);
  });
}

/// Mappings of shared memory in this process.
std::size_t mappings() {
  std::ifstream file("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);)
    count += line.find("/dev/shm/assay-") != std::string::npos ? 1u : 0u;
  return count;
}

TEST(RegisteredMemory, ThatIsFreedIsLetGoByAll) {
  const std::size_t before = mappings();
  testing_fakes::on_threads(2, [before](Communicator& ranks) {
    RegisteredMemory memory(ranks);
    for (int round = 0; round < 50; ++round) {
      const auto mine = memory.allocate(4096);
      memory.show();
      EXPECT_NE(memory.place(bytes_of(mine.get(), 4096)).object, 0u);
      // Mine, the other rank's, and the last round's that its reader has not yet let go.
      EXPECT_LE(mappings(), before + 8);
      EXPECT_GT(mappings(), before) << "they are seen by their name";
      ranks.barrier();
    }
    memory.show();
    ranks.barrier();
    EXPECT_EQ(mappings(), before);
    ranks.barrier();
  });
}

/// Rank 0's memory is not where it says.
class Elsewhere final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::vector<std::string> allgather(const std::string& text) override {
    std::vector<std::string> all = ForwardingCommunicator::allgather(text);
    for (std::string& text : all)
      if (text.starts_with('=')) text.insert(1, "0");  // of the process: "0123" is none
    return all;
  }
};

TEST(RegisteredMemory, ThatOneRankCannotSeeIsOrdinary) {
  testing_fakes::on_threads(2, [](Communicator& transport) {
    Elsewhere ranks(transport);
    RegisteredMemory memory(ranks);
    const auto mine = memory.allocate(4096);
    memory.show();
    EXPECT_EQ(memory.place(bytes_of(mine.get(), 4096)).object, 0u);
  });
}

}  // namespace test_registered_memory
}  // namespace assay
