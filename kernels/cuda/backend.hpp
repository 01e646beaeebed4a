#pragma once
// NVIDIA GPUs by NVIDIA's libraries: cuDNN for convolutions.

#include "core/api/backend.hpp"

namespace assay::cuda {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

}  // namespace assay::cuda
