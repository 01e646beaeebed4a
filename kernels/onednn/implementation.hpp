#pragma once
// Interprets the name of the implementation that oneDNN has chosen.

#include <string>

#include "core/api/precision.hpp"

namespace assay::onednn {

/// The type in which products are computed, according to the implementation's name and the
/// processor; "" if these do not determine it.
std::string compute_type(Precision precision, const std::string& implementation, bool gpu);

/// The reason why a run of oneDNN's reference loops would take longer than a case may; "" if it
/// would not, or if the implementation is another one. oneDNN falls back to these loops. They are
/// slow: 0.05 GFLOP/s per thread (version 3.2).
std::string why_not_reference(const std::string& implementation, double flops, int threads);

}  // namespace assay::onednn
