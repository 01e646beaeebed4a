#pragma once
// The entry point of a plugin. Only one source file of each plugin includes this header, so a new
// interface version recompiles that file alone.

#include <string>

#include "assay/interface_version.hpp"
#include "core/api/backend.hpp"

namespace assay {

/// The entry that a plugin exports. `create` returns a Backend, which the caller owns, or null with
/// the reason in `reason` (a missing device or library).
struct BackendEntry {
  const char* interface_version;
  Backend* (*create)(std::string& reason);
};

}  // namespace assay

/// Defines the one C entry point of a plugin. A macro, because an exported C symbol cannot come
/// from a template.
#define ASSAY_BACKEND(create_function)                                                     \
  extern "C" __attribute__((visibility("default"))) const ::assay::BackendEntry*           \
  assay_backend_entry() {                                                                  \
    static const ::assay::BackendEntry entry{::assay::interface_version, create_function}; \
    return &entry;                                                                         \
  }
