#pragma once
// The kernel of every item; each *.cu makes those of its items.

#include "kernels/cuda/for_each.hpp"

namespace assay::cuda {

constexpr int item_threads = 256;
// Enough for every GPU; threads loop over the remaining items.
constexpr std::int64_t most_blocks = 65535;

/// Number of blocks for which a multiprocessor must have registers.
template <class Item>
constexpr int choose_least_blocks() {
  if constexpr (requires { Item::least_blocks; }) return Item::least_blocks;
  return 1;
}

template <class Item>
__global__ void __launch_bounds__(item_threads, choose_least_blocks<Item>())
    item_kernel(Item item, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    item(i);
}

template <class Item>
cudaError_t for_each(const Item& item, std::int64_t count, cudaStream_t stream) {
  const std::int64_t needed = (count + item_threads - 1) / item_threads,
                     blocks = needed < most_blocks ? needed : most_blocks;
  item_kernel<Item><<<static_cast<unsigned>(blocks), item_threads, 0, stream>>>(item, count);
  return cudaGetLastError();
}

}  // namespace assay::cuda

#define ASSAY_START(...)                                                                    \
  template cudaError_t assay::cuda::for_each(const assay::cuda::__VA_ARGS__&, std::int64_t, \
                                             cudaStream_t);
