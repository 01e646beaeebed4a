#include "kernels/cuda/linalg_kernels.hpp"

namespace assay::cuda {

constexpr int block_threads = 256;
// Enough for every GPU; threads step over what is beyond.
constexpr std::int64_t most_blocks = 65535;

template <class Item>
__global__ void __launch_bounds__(block_threads) item_kernel(Item item, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    item(i);
}

template <class Item>
cudaError_t for_each(const Item& item, std::int64_t count, cudaStream_t stream) {
  const std::int64_t needed = (count + block_threads - 1) / block_threads,
                     blocks = needed < most_blocks ? needed : most_blocks;
  item_kernel<Item><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(item, count);
  return cudaGetLastError();
}

#define ASSAY_START(...) \
  template cudaError_t for_each(const __VA_ARGS__&, std::int64_t, cudaStream_t);
#define ASSAY_START_OF(Item) \
  ASSAY_START(Item<double>)  \
  ASSAY_START(Item<float>)
ASSAY_START(Fill)
ASSAY_START_OF(Widen)
ASSAY_START_OF(Centre)
ASSAY_START_OF(Select)
ASSAY_START_OF(HalfNorm)
ASSAY_START_OF(Assign)
ASSAY_START_OF(SquaredDifference)
ASSAY_START_OF(Margin)

}  // namespace assay::cuda
