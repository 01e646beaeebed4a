#include "kernels/cuda/stream_kernels.hpp"

#include "kernels/cuda/for_each.cuh"

namespace assay::cuda {

inline __device__ std::int64_t this_thread() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

template <class Item>
__global__ void __launch_bounds__(stream_threads) move_kernel(Item item) {
  item(this_thread());
}

template <class Item>
__global__ void __launch_bounds__(stream_threads) add_kernel(Item item, double* sum) {
  double mine = item(this_thread());
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(0xffffffffu, mine, lane);
  __shared__ double of_warps[stream_threads / 32];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double of_block = 0;
  for (double part : of_warps) of_block += part;
  atomicAdd(sum, of_block);
}

template <class Item>
unsigned count_blocks(const Item& item) {
  return static_cast<unsigned>(item.threads / stream_threads);
}

template <class Item>
cudaError_t move_each(const Item& item, cudaStream_t stream) {
  move_kernel<Item><<<count_blocks(item), stream_threads, 0, stream>>>(item);
  return cudaGetLastError();
}

template <class Item>
cudaError_t add_each(const Item& item, double* sum, cudaStream_t stream) {
  const cudaError_t error = cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  if (error != cudaSuccess) return error;
  add_kernel<Item><<<count_blocks(item), stream_threads, 0, stream>>>(item, sum);
  return cudaGetLastError();
}

template cudaError_t add_each(const ReadPacks<float>&, double*, cudaStream_t);
template cudaError_t add_each(const ReadPacks<double>&, double*, cudaStream_t);

#define ASSAY_MOVE(Real, kind)                                                       \
  template cudaError_t move_each(const MovePacks<Real, Move::kind, Caching::usual>&, \
                                 cudaStream_t);                                      \
  template cudaError_t move_each(const MovePacks<Real, Move::kind, Caching::once>&, cudaStream_t);
#define ASSAY_MOVES(Real) \
  ASSAY_MOVE(Real, copy) ASSAY_MOVE(Real, scale) ASSAY_MOVE(Real, add) ASSAY_MOVE(Real, triad)
ASSAY_MOVES(double)
ASSAY_MOVES(float)

}  // namespace assay::cuda

ASSAY_START(ChaseLines)
