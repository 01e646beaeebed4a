#pragma once
// The kernels of assay-stream on a GPU. nvcc compiles this header, so it includes no other headers
// of Assay.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace assay::cuda {

enum class Move { copy, scale, add, triad };

/// c[0 … n) from a and b (copy and scale: from a alone); `scalar` times a, or times b in triad.
/// `streaming`: loads and stores are marked as used once. Returns the error of the launch.
template <class T>
cudaError_t move(Move what, bool streaming, T scalar, const T* a, const T* b, T* c, std::int64_t n,
                 int processors, cudaStream_t stream);

/// *sum = `passes` times the sum of a[0 … n). Each pass reads all of it from the L2 cache or from
/// memory, never from a first-level cache.
template <class T>
cudaError_t read(const T* a, double* sum, std::int64_t n, std::int64_t passes, int processors,
                 cudaStream_t stream);

/// *end = the line that is reached by `loads` dependent loads from line `start` mod `lines`, where
/// ring[line * stride] is the next line.
cudaError_t chase(const std::int32_t* ring, std::int64_t lines, std::int64_t stride,
                  const std::int32_t* start, std::int32_t* end, std::int64_t loads,
                  cudaStream_t stream);

}  // namespace assay::cuda
