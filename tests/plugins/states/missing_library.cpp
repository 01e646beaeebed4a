// Linked with libvanished.so, which no loader will find.
#include "core/api/backend_entry.hpp"

extern "C" int assay_test_vanished();

namespace {

assay::Backend* create(std::string& reason) {
  reason = assay_test_vanished() == 1 ? "found after all" : "";
  return nullptr;
}

}  // namespace

ASSAY_BACKEND(&create)
