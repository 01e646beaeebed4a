// The common part of the items of our kernels: divisions by multiplication, sums of few rows, and
// warps, whose lanes the host runs one after the other.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/warp.hpp"

namespace assay::cuda {
namespace test_items {

TEST(Divisor, DividesAsTheProcessorDoes) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> divisors, numbers;
  for (std::int64_t i = 1; i < 300; ++i) divisors.push_back(i);
  for (int bit = 8; bit < 40; ++bit)
    for (const int off : {-1, 0, 1}) divisors.push_back((std::int64_t{1} << bit) + off);
  for (int bit = 0; bit < 40; ++bit)
    for (const int off : {-1, 0, 1}) numbers.push_back((std::int64_t{1} << bit) + off);
  for (int i = 0; i < 200; ++i)
    numbers.push_back(static_cast<std::int64_t>(random() >> (1 + i % 63)));
  for (const std::int64_t by : divisors) {
    const Divisor divisor(by);
    ASSERT_EQ(divisor.by(), by);
    for (const std::int64_t n : numbers) {
      ASSERT_EQ(divisor.quotient(n), n / by) << n << " / " << by;
      // A wrong factor shows first where a quotient changes.
      const std::int64_t multiple = n / by * by;
      ASSERT_EQ(divisor.quotient(multiple), multiple / by) << multiple << " / " << by;
      if (multiple == 0) continue;
      ASSERT_EQ(divisor.quotient(multiple - 1), (multiple - 1) / by) << multiple - 1 << " / " << by;
    }
  }
}

TEST(FewRows, AreAddedInTheirOrder) {
  for (const std::int64_t rows : {1, 15, 16, 17, 64}) {
    std::vector<double> numbers(static_cast<std::size_t>(3 * rows));
    double expected[3] = {};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = 1 / static_cast<double>(i + 3);
      expected[i % 3] += numbers[i];
    }
    for (std::int64_t column = 0; column < 3; ++column)
      EXPECT_EQ((FewRows{numbers.data(), rows, 3}.sum(column)), expected[column]);
  }
}

TEST(Warp, GivesAllLanesTheSameBits) {
  const Warp warp(5 * warp_lanes);
  EXPECT_EQ(warp.number, 5);
  EXPECT_FALSE(warp.idle());
  EXPECT_TRUE(Warp(5 * warp_lanes + 1).idle());
  Lanes<double> values = {};
  double about = 0;
  warp.each([&](int lane) { about += values[lane] = 1.0 / (3 + lane); });
  warp.add_up(values);
  EXPECT_NEAR(values[0], about, 1e-15);
  for (int lane = 1; lane < warp_lanes; ++lane) EXPECT_EQ(values[lane], values[0]);
}

/// Each column of a row is one lane's, once, whatever the packs.
template <int width>
void expect_whole_row(std::int64_t columns) {
  std::vector<float> row(static_cast<std::size_t>(columns)), found(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i + 1);
  for (std::int64_t tile = 0; tile < count_tiles(columns); ++tile)
    for (int lane = 0; lane < warp_lanes; ++lane) {
      const LaneValues<float> held = load_held<width>(row.data(), columns, tile, lane);
      for (int j = 0; j < lane_columns; ++j) {
        const std::int64_t column = find_column<width>(tile, lane, j);
        if (column < columns)
          found[static_cast<std::size_t>(column)] += held.at[j];
        else
          EXPECT_EQ(held.at[j], 0);
      }
    }
  EXPECT_EQ(found, row);
}

TEST(Warp, HoldsWholeRows) {
  for (const std::int64_t columns : {1, 7, 255, 256, 257, 700}) expect_whole_row<1>(columns);
  for (const std::int64_t columns : {2, 250, 256, 258, 702}) expect_whole_row<2>(columns);
  for (const std::int64_t columns : {4, 252, 256, 260, 700}) expect_whole_row<4>(columns);
}

/// Each element is one lane's, once; single ones where they fill no pack.
TEST(Warp, DividesAnyRangeIntoPacks) {
  for (const std::int64_t begin : {0, 3, 8, 1001})
    for (const std::int64_t count : {1, 4, 5, 7, 64, 1000}) {
      std::vector<int> visits(2048, 0);
      int packs = 0;
      for (int lane = 0; lane < warp_lanes; ++lane)
        each_pack<8>(begin, begin + count, lane, [&](std::int64_t at, auto width) {
          if (width == 8) {
            EXPECT_EQ(at % 8, 0);
            ++packs;
          }
          for (int j = 0; j < width; ++j) ++visits[static_cast<std::size_t>(at + j)];
        });
      for (std::int64_t i = 0; i < 2048; ++i)
        ASSERT_EQ(visits[static_cast<std::size_t>(i)], i >= begin && i < begin + count ? 1 : 0)
            << begin << " " << count << " " << i;
      EXPECT_EQ(packs,
                (begin + count) / 8 > (begin + 7) / 8 ? (begin + count) / 8 - (begin + 7) / 8 : 0);
    }
}

/// Tiles with rests in both directions, of tensors that begin with a pack, and of others.
template <class Stored, class Number>
void expect_transposed() {
  constexpr std::int64_t width = widest<Stored>, matrices = 2;
  for (const std::int64_t rows : {std::int64_t{1}, width - 1, width, 3 * width, 2 * width + 1})
    for (const std::int64_t columns : {std::int64_t{1}, std::int64_t{9}, width, 2 * width})
      for (const int off : {0, 1}) {
        const std::int64_t count = matrices * rows * columns;
        alignas(16) static Stored from[2048], to[2048];
        for (std::int64_t i = 0; i < 2048; ++i) {
          from[i] = Stored(static_cast<Number>(i));
          to[i] = Stored(Number(-1));
        }
        const Transpose<Stored> item{from + off, to + off, rows, columns};
        for (std::int64_t i = item.items(count); i-- > 0;) item(i);
        for (std::int64_t n = 0; n < matrices; ++n)
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
              ASSERT_EQ(widen(to[off + (n * columns + c) * rows + r]),
                        widen(from[off + (n * rows + r) * columns + c]))
                  << rows << " " << columns << " " << off;
        ASSERT_EQ(static_cast<float>(widen(to[off + count])), -1);
        if (off > 0) {
          ASSERT_EQ(static_cast<float>(widen(to[0])), -1);
        }
      }
}

TEST(Transpose, MovesEveryElement) {
  expect_transposed<double, double>();
  expect_transposed<float, float>();
  expect_transposed<__half, float>();
}

}  // namespace test_items
}  // namespace assay::cuda
