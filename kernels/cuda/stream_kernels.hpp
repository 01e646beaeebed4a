#pragma once
// Starts the items of assay-stream, each of which has one thread for each of its parts.

#include <cuda_runtime_api.h>

#include "kernels/cuda/stream_items.hpp"

namespace assay::cuda {

/// item(i) for 0 <= i < item.threads. Returns the error of the launch.
template <class Item>
cudaError_t move_each(const Item& item, cudaStream_t stream);

/// *sum = the sum of what item(i) returns for 0 <= i < item.threads, in no fixed order. Returns the
/// error of the launch.
template <class Item>
cudaError_t add_each(const Item& item, double* sum, cudaStream_t stream);

}  // namespace assay::cuda
