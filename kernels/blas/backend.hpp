#pragma once
// CBLAS libraries as a backend: OpenBLAS, BLIS, MKL, ESSL, SSL2 or any other, named at run time. A
// process uses one of them, since their threads would disturb each other.

#include "core/api/backend.hpp"
#include "kernels/blas/library.hpp"

namespace assay::blas {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

/// The library that device() has opened; std::logic_error before that.
const Library& library();

}  // namespace assay::blas
