#pragma once
// Kernels of data analysis in which a warp reads a whole observation at once (linalg_items.hpp).

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/linalg_items.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay::cuda {

/// Number of warps for each of `pieces` of the work on n observations. All of them are on the GPU
/// at once, so that none starts late.
template <class Item>
std::int64_t warps_at_once(int processors, std::int64_t pieces, std::int64_t n) {
  constexpr std::int64_t of_block = 8;
  return std::clamp<std::int64_t>(processors * of_block * Item::least_blocks / pieces, 1, n);
}

/// Calls make(an element, the widest packs into which rows of d elements divide).
template <class Make>
auto with_packs(Precision precision, std::int64_t d, const Make& make) {
  const auto make_for = [&](auto element) {
    using Real = decltype(element);
    if constexpr (widest<Real> == 4)
      if (d % 4 == 0) return make(element, std::integral_constant<int, 4>());
    if (d % 2 == 0) return make(element, std::integral_constant<int, 2>());
    return make(element, std::integral_constant<int, 1>());
  };
  return precision == Precision::fp64 ? make_for(double()) : make_for(float());
}

}  // namespace assay::cuda
