// Needs a function that nobody has, as a plugin does whose library is of another version.
#include "core/api/backend_entry.hpp"

extern "C" int assay_test_function_that_nobody_has();

namespace {

assay::Backend* create(std::string& reason) {
  reason = assay_test_function_that_nobody_has() == 0 ? "zero" : "not zero";
  return nullptr;
}

}  // namespace

ASSAY_BACKEND(&create)
