// An entry point that gives nothing.
#include "core/api/backend_entry.hpp"

extern "C" __attribute__((visibility("default"))) const assay::BackendEntry* assay_backend_entry() {
  return nullptr;
}
