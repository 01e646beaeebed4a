#pragma once
// Starts our kernels on a GPU.

#include <cuda_runtime_api.h>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// item(i) for 0 <= i < count. Returns the error of the launch.
template <class Item>
cudaError_t for_each(const Item& item, std::int64_t count, cudaStream_t stream);

}  // namespace assay::cuda
