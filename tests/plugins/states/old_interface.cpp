// The plugin is as if built against the headers of another version of Assay: it must be refused
// before anything of it is called.
#include <cstdlib>

#include "core/api/backend_entry.hpp"

namespace {

assay::Backend* create(std::string&) { std::abort(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const assay::BackendEntry* assay_backend_entry() {
  static const assay::BackendEntry entry{"0123456789abcdef", &create};
  return &entry;
}
