#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/parallel.hpp"

namespace assay {
namespace test_parallel {

TEST(ParallelFor, DoesEachOnce) {
  for (const std::size_t threads : {0, 1, 2, 7, 100}) {
    std::vector<std::atomic<int>> done(50);
    parallel_for(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const auto& count : done) EXPECT_EQ(count, 1) << threads;
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsWhatACallThrew) {
  for (const std::size_t threads : {1, 3}) {
    std::atomic<int> calls{0};
    EXPECT_THROW(parallel_for(100000, threads,
                              [&](std::size_t i) {
                                ++calls;
                                if (i == 5) throw std::runtime_error("five");
                              }),
                 std::runtime_error);
    EXPECT_LT(calls, 100000) << "what has not begun is left out";
  }
}

TEST(ParallelFor, ThrowsTheFirstAsALoopDoes) {
  for (const std::size_t threads : {1, 2, 8}) {
    std::atomic<std::size_t> begun{0};
    try {
      parallel_for(8, threads, [&](std::size_t i) {
        ++begun;
        // All that begin together fail, the last one first.
        while (threads == 8 && begun < 8) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(threads == 1 ? 0 : 5 * (8 - i)));
        throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "0") << threads;
    }
  }
}

}  // namespace test_parallel
}  // namespace assay
