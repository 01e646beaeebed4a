#pragma once
// NVIDIA GPUs by NVIDIA's libraries: cuDNN for convolutions and recurrent networks, cuBLASLt for
// products, cuBLAS and cuSOLVER for data analysis.

#include "core/api/backend.hpp"

namespace assay::cuda {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

}  // namespace assay::cuda
