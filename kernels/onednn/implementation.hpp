#pragma once
// What the name of an implementation that oneDNN chose tells.

#include <string>

#include "core/api/precision.hpp"

namespace assay::onednn {

/// The type that products are formed in, as far as the implementation's name and the processor
/// tell; "" where they do not.
std::string compute_type(Precision precision, const std::string& implementation, bool gpu);

/// oneDNN's reference loops, which it falls back to, are there to be right: 0.05 GFLOP/s of a
/// thread (3.2). Why one run of them would outlast what a case may take, or nothing.
std::string why_not_reference(const std::string& implementation, double flops, int threads);

}  // namespace assay::onednn
