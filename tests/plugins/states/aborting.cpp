// A library whose start ends the process, with words of its own.
#include <cstdlib>
#include <iostream>

#include "core/api/backend_entry.hpp"

namespace {

assay::Backend* create(std::string&) {
  std::cerr << "assertion failed in the library (injected)" << std::endl;
  std::abort();
}

}  // namespace

ASSAY_BACKEND(&create)
