#pragma once
// The reference of dropout as code of one thread, on the host or on a device
// (core/api/formula.hpp). Definitions: kernels/dropout/problem.hpp. Philox is implemented here
// independently: backends use Random123's implementation, or their own.

#include "core/api/expected.hpp"

namespace assay::dropout {

struct Words {
  std::uint32_t word[4];
};

/// Philox4x32-10 by its definition: each of 10 rounds multiplies words 0 and 2, and adds Weyl
/// numbers to the key.
ASSAY_ITEM Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{counter.word[0]} * 3528531795u,
                        b = std::uint64_t{counter.word[2]} * 3449720151u;
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x & 4294967295u); };
    counter = {
        {high(b) ^ counter.word[1] ^ key0, low(b), high(a) ^ counter.word[3] ^ key1, low(a)}};
    key0 += 2654435769u;
    key1 += 3144134277u;
  }
  return counter;
}

/// Input: src, or diff_dst. The table has the step.
struct Dst {
  static constexpr const char* name = "dropout dst";
  std::int64_t plane = 1, channels = 1;
  std::uint32_t key0 = 0, key1 = 0;
  double dropped = 0;  ///< words below are
  double scale = 1;
  bool wide = false;  ///< products are fp64
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double* table, std::int64_t i) const {
    // [n, c, pixel] -> [n, pixel, c]
    const std::int64_t image = i / (plane * channels), c = i / plane % channels,
                       e = (image * plane + i % plane) * channels + c;
    const auto block = static_cast<std::uint64_t>(e / 4);
    const Words words =
        philox({{static_cast<std::uint32_t>(block & 4294967295u),
                 static_cast<std::uint32_t>(block >> 32), static_cast<std::uint32_t>(table[0]), 0}},
               key0, key1);
    if (static_cast<double>(words.word[e % 4]) < dropped) return {0, 0, 0};
    // The product of two numbers of 24 bits is exact in fp64.
    const double product = in(0, i) * scale;
    return {wide ? product : static_cast<double>(static_cast<float>(product)), 0, 0};
  }
};

}  // namespace assay::dropout
