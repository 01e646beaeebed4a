#include <stdexcept>

#include "core/api/backend_entry.hpp"

namespace {

assay::Backend* create(std::string&) {
  throw std::runtime_error("the driver is older than the library");
}

}  // namespace

ASSAY_BACKEND(&create)
