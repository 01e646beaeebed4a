#pragma once
// Runs our kernels of data analysis on the host.

#include <string>

namespace fake {

/// The kernel of this mangled name, for all indices; false where it is none of them.
bool run_item(const std::string& kernel, void** arguments);

}  // namespace fake
