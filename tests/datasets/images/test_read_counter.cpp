#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "datasets/images/read_counter.hpp"

namespace assay {
namespace {

/// glibc reads the number of processors when the ninth of its threads asks for memory.
TEST(ReadCounter, CountsNoReadsOfTheLibraryThatGivesMemory) {
  constexpr int threads = 16;
  std::barrier all_hold_memory(threads);
  std::vector<std::int64_t> requested(threads);
  {
    std::vector<std::jthread> running;
    for (std::int64_t& bytes : requested)
      running.emplace_back([&] {
        ReadCounter counter;
        const auto memory = std::make_unique<std::vector<int>>(100);
        all_hold_memory.arrive_and_wait();
        bytes = counter.known() ? counter.requested() : 0;
      });
  }
  EXPECT_EQ(requested, std::vector<std::int64_t>(threads));
}

}  // namespace
}  // namespace assay
