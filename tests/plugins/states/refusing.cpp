#include "core/api/backend_entry.hpp"

namespace {

assay::Backend* create(std::string& reason) {
  reason = "no device of this kind in this machine";
  return nullptr;
}

}  // namespace

ASSAY_BACKEND(&create)
