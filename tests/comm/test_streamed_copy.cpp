#include "comm/algorithms/streamed_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace assay {
namespace test_streamed_copy {

TEST(StreamedCopy, CopiesEveryByteAndNoOther) {
  constexpr std::size_t room = 1200;
  std::vector<std::byte> from(room), into(room);
  for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<std::byte>(i % 251);
  for (std::size_t at = 0; at < 70; ++at) {
    for (const std::size_t bytes : {0, 1, 63, 64, 127, 128, 129, 191, 192, 500, 1000}) {
      for (const std::size_t source : {std::size_t{0}, std::size_t{3}, at}) {
        std::fill(into.begin(), into.end(), std::byte{0xee});
        const auto count = static_cast<std::int64_t>(bytes);
        copy_streamed({into.data() + at, count, DataType::u8},
                      {from.data() + source, count, DataType::u8});
        fence_streamed();
        ASSERT_EQ(std::memcmp(into.data() + at, from.data() + source, bytes), 0)
            << bytes << " bytes from " << source << " to " << at;
        for (std::size_t i = 0; i < room; ++i)
          ASSERT_TRUE((i >= at && i < at + bytes) || into[i] == std::byte{0xee}) << i;
      }
    }
  }
}

}  // namespace test_streamed_copy
}  // namespace assay
