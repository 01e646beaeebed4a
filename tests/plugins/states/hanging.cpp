// A library that never finishes its start.
#include <unistd.h>

#include "core/api/backend_entry.hpp"

namespace {

assay::Backend* create(std::string&) {
  for (;;) pause();
}

}  // namespace

ASSAY_BACKEND(&create)
