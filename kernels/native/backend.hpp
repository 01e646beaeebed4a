#pragma once
// The native backend: Assay's own kernels, written once for all processors. Highway chooses the
// instruction set at run time; OpenMP runs the threads.

#include "core/api/backend.hpp"

namespace assay::native {

/// The makers of this plugin. Its other files add theirs when the plugin is loaded.
Makers& makers();

}  // namespace assay::native
