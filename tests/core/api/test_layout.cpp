#include "core/api/layout.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay
