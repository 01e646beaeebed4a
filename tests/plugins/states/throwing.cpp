#include <stdexcept>

#include "core/backend.hpp"

namespace {

assay::Backend* create(std::string&) {
  throw std::runtime_error("the driver is older than the library");
}

}  // namespace

ASSAY_BACKEND(&create)
