// The threads of assay-stream's kernels on the host, few of them, in no order.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/stream_items.hpp"

namespace assay::cuda {
namespace test_stream_items {

constexpr std::int64_t counts[] = {0, 1, 2, 3, 4, 7, 8, 61, 64, 1001};

template <class T>
struct alignas(16) Array {
  alignas(16) T at[1024] = {};
};

/// c = f(a, b) in n elements, and nothing behind them.
template <class T, Move what, Caching how, class F>
void expect_moved(const F& f) {
  static Array<T> a, b, c;
  for (int i = 0; i < 1024; ++i) {
    a.at[i] = static_cast<T>(i + 1);
    b.at[i] = static_cast<T>(5000 - 3 * i);
  }
  for (const std::int64_t n : counts)
    for (const std::int64_t threads : {1, 3, 512}) {
      for (T& element : c.at) element = -1;
      const MovePacks<T, what, how> item{a.at, b.at, c.at, n, threads, 3};
      for (std::int64_t thread = threads; thread-- > 0;) item(thread);
      for (int i = 0; i < 1024; ++i)
        ASSERT_EQ(c.at[i], i < n ? f(a.at[i], b.at[i]) : -1) << n << " " << threads << " " << i;
    }
}

template <class T, Caching how>
void expect_all_moved() {
  expect_moved<T, Move::copy, how>([](T x, T) { return x; });
  expect_moved<T, Move::scale, how>([](T x, T) { return 3 * x; });
  expect_moved<T, Move::add, how>([](T x, T y) { return x + y; });
  expect_moved<T, Move::triad, how>([](T x, T y) { return x + 3 * y; });
}

TEST(StreamItems, MoveEveryElementOnce) {
  expect_all_moved<double, Caching::usual>();
  expect_all_moved<double, Caching::once>();
  expect_all_moved<float, Caching::usual>();
  expect_all_moved<float, Caching::once>();
}

template <class T>
void expect_added() {
  static Array<T> a;
  for (int i = 0; i < 1024; ++i) a.at[i] = static_cast<T>(i + 1);
  for (const std::int64_t n : counts)
    for (const std::int64_t threads : {1, 3, 512}) {
      double sum = 0;
      for (std::int64_t thread = 0; thread < threads; ++thread)
        sum += ReadPacks<T>{a.at, n, 5, threads}(thread);
      EXPECT_EQ(sum, 5 * static_cast<double>(n * (n + 1) / 2)) << n << " " << threads;
    }
}

TEST(StreamItems, AddEveryElementInEveryPass) {
  expect_added<double>();
  expect_added<float>();
}

TEST(StreamItems, FollowTheRing) {
  constexpr std::int64_t lines = 7, stride = 16;
  std::vector<std::int32_t> ring(lines * stride, -1);
  for (int i = 0; i < lines; ++i)
    ring[static_cast<std::size_t>(i * stride)] = static_cast<std::int32_t>((i + 3) % lines);
  for (const std::int32_t start : {0, 6, 8, -1, -15})
    for (const std::int64_t loads : {0, 1, 20}) {
      std::int32_t end = -1;
      ChaseLines{ring.data(), lines, stride, &start, &end, loads}(0);
      const std::int64_t first = ((start % lines) + lines) % lines;
      EXPECT_EQ(end, (first + 3 * loads) % lines) << start << " " << loads;
    }
}

/// Whole blocks; no more of them than have packs, nor than fill the GPU a few times.
TEST(StreamItems, HaveThreads) {
  EXPECT_EQ(stream_threads_for<double>(1, 132), 512);
  EXPECT_EQ(stream_threads_for<double>(2 * 512, 132), 512);
  EXPECT_EQ(stream_threads_for<double>(2 * 513, 132), 1024);
  EXPECT_EQ(stream_threads_for<float>(4 * 513, 132), 1024);
  EXPECT_EQ(stream_threads_for<float>(std::int64_t{1} << 30, 132), 132 * 16 * 512);
}

}  // namespace test_stream_items
}  // namespace assay::cuda
