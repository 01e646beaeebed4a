#pragma once
// The native backend: Assay's own kernels, from one source for every processor (Highway chooses the
// instruction set while the program runs, OpenMP the threads).

#include "core/api/backend.hpp"

namespace assay::native {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

}  // namespace assay::native
