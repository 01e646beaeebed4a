#pragma once
// The item (item.hpp) of dropout (kernels/dropout/problem.hpp), channels innermost, so that packs
// are in the order of the elements' numbers.

#include <Random123/philox.h>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

template <class Stored, int width>
struct Drop {
  using Philox = r123::Philox4x32;
  const Stored* from;
  const std::int32_t* counter;
  std::uint32_t key0, key1, least;
  ValueOf<Stored> scale;
  Stored* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const auto first = static_cast<std::uint64_t>(i) * width;
    const auto step = static_cast<std::uint32_t>(*counter);
    ValueOf<Stored> x[width];
    load<width>(from + first, x);
    Philox::ctr_type words = {};
    for (unsigned j = 0; j < width; ++j) {
      // A pack either stays within a block of four words or begins with a block.
      if (j % 4 == 0) {
        const std::uint64_t block = (first + j) / 4;
        const Philox::ctr_type number = {
            {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), step, 0}};
        const Philox::key_type key = {{key0, key1}};
        words = Philox()(number, key);  // 10 rounds
      }
      x[j] = words.v[(first + j) % 4] < least ? 0 : x[j] * scale;
    }
    store<width>(x, to + first);
  }
};

}  // namespace assay::cuda
