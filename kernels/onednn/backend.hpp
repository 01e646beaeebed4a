#pragma once
// oneDNN as a backend. The same code drives its CPU engine and, where the library was built with
// one, its GPU engine.

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "core/api/backend.hpp"

namespace assay::onednn {

/// Makers of this plugin, filled by its other files while it is loaded.
Makers& makers();

/// "oneDNN 3.2.0".
std::string library();
/// Message and status of an error of the library.
std::string words(const dnnl::error& error);

}  // namespace assay::onednn
