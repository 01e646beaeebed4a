#pragma once
// The device of copies: its tensors lie in the memory of GPUs, or in the host's.

#include <memory>

#include "kernels/cuda/kernel_device.hpp"

namespace assay::cuda {

/// `gpu` must outlive the device. Copies use the stream of `gpu`.
std::unique_ptr<Device> copy_device(KernelDevice& gpu);

}  // namespace assay::cuda
