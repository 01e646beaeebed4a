#include "core/api/layout.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <utility>

namespace assay {
namespace test_layout {

TensorSpec spec_of(DataType type, std::vector<std::int64_t> dims) {
  TensorSpec spec;
  spec.type = type;
  spec.dims = std::move(dims);
  return spec;
}

/// Bytes that count up, so that every element is another one.
std::vector<std::uint8_t> counted(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), std::uint8_t{1});
  return data;
}

TEST(Layout, ChannelsLastOfEverySizeOfElement) {
  for (const DataType type : {DataType::u8, DataType::bf16, DataType::fp32, DataType::fp64}) {
    const TensorSpec spec = spec_of(type, {2, 3, 2});  // [n, c, w] becomes [n, w, c]
    const Layout last{{{1, 6, 0}, {3, 6, 1}, {1, 3, 0}}, 12};
    const std::size_t size = size_of(type);
    const std::vector<std::uint8_t> packed = counted(12 * size);
    std::vector<std::uint8_t> placed(packed.size()), back(packed.size());
    place(spec, last, packed.data(), placed.data());
    for (std::size_t n = 0; n < 2; ++n)
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t w = 0; w < 2; ++w)
          for (std::size_t byte = 0; byte < size; ++byte)
            EXPECT_EQ(placed[((n * 2 + w) * 3 + c) * size + byte],
                      packed[((n * 3 + c) * 2 + w) * size + byte])
                << name(type);
    pack(spec, last, placed.data(), back.data());
    EXPECT_EQ(back, packed);
  }
}

TEST(Layout, BlocksOfChannelsArePaddedWithZeros) {
  const TensorSpec spec = spec_of(DataType::s8, {6, 2});  // [c, w]: c in fours, the last block half
  const Layout fours{{{4, 8, 1}, {1, 4, 0}}, 16};
  const std::vector<std::uint8_t> packed = counted(12);
  std::vector<std::uint8_t> placed(16, 0xff), back(12);
  place(spec, fours, packed.data(), placed.data());
  EXPECT_EQ(placed, (std::vector<std::uint8_t>{1, 3, 5, 7, 2, 4, 6, 8, 9, 11, 0, 0, 10, 12, 0, 0}));
  pack(spec, fours, placed.data(), back.data());
  EXPECT_EQ(back, packed);
}

TensorSpec laid_out(const std::vector<std::int64_t>& dims, const Layout& layout) {
  TensorSpec spec = spec_of(DataType::fp32, dims);
  spec.layout = std::make_shared<const Layout>(layout);
  return spec;
}

TEST(Layout, ChannelsLastAndBlocksOfChannels) {
  const std::vector<std::int64_t> dims{2, 6, 1, 2};
  for (const auto& [layout, order] :
       {std::pair{channels_last(dims), std::vector<int>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}},
        std::pair{channel_blocks(dims, 4),
                  std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, -1, -1, 9, 11, -1, -1}}}) {
    std::vector<float> packed(24);
    std::iota(packed.begin(), packed.end(), 0.f);
    std::vector<float> placed(static_cast<std::size_t>(layout.elements), -1);
    ASSERT_EQ(placed.size(), 2 * order.size());
    place(spec_of(DataType::fp32, dims), layout, packed.data(), placed.data());
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const int image = i < order.size() ? 0 : 12, from = order[i % order.size()];
      EXPECT_EQ(placed[i], from < 0 ? 0 : static_cast<float>(image + from)) << i;
    }
  }
}

TEST(Layout, EqualPlacesAreSeenInAllSpellings) {
  const std::vector<std::int64_t> dims{2, 6, 3, 1};
  const TensorSpec rows = spec_of(DataType::fp32, dims), last = laid_out(dims, channels_last(dims));
  EXPECT_TRUE(same_places(rows, rows));
  EXPECT_TRUE(
      same_places(last, laid_out(dims, {{{1, 18, 0}, {6, 99, 1}, {1, 6, 0}, {7, 5, 3}}, 36})));
  EXPECT_TRUE(
      same_places(rows, laid_out(dims, {{{1, 18, 0}, {2, 6, 3}, {1, 1, 0}, {1, 1, 0}}, 36})));
  EXPECT_FALSE(same_places(rows, last));
  EXPECT_FALSE(same_places(last, laid_out(dims, channel_blocks(dims, 4))));
  TensorSpec other = rows;
  other.type = DataType::s32;
  EXPECT_FALSE(same_places(rows, other));
  other = rows;
  other.dims = {2, 3, 6, 1};
  EXPECT_FALSE(same_places(rows, other));
  other = rows;
  other.opaque = std::make_shared<int>(0);
  EXPECT_FALSE(same_places(other, other));
  // The orders are the same if a pixel has one channel, or if there is one pixel.
  const std::vector<std::int64_t> one{2, 6, 1, 1};
  EXPECT_TRUE(same_places(spec_of(DataType::fp32, one), laid_out(one, channels_last(one))));
}

}  // namespace test_layout
}  // namespace assay
