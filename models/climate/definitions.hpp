#pragma once
// The networks of models/climate as their documentation defines them, for checks.

#include <string>

#include "models/network/definition.hpp"

namespace assay {

/// The definitions by their fields, "h768w1152c16d1r2". CaseError for another text.
NetworkDefinition define_tiramisu(const std::string& fields);
NetworkDefinition define_deeplab(const std::string& fields, bool normalizes);

}  // namespace assay
