#pragma once
// The reference backend: plain loops with fp64 accumulation, for every precision and direction. It
// computes whole tensors and shares nothing with the oracles, so that the two check each other.

#include "core/api/backend.hpp"

namespace assay::reference {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

}  // namespace assay::reference
