#pragma once
// Runs our kernels of data analysis on the host.

#include <functional>
#include <string>

namespace fake {

/// The kernel of this mangled name, for all indices, with copies of its arguments; empty where it
/// is none of them.
std::function<void()> work_of_item(const std::string& kernel, void** arguments);

}  // namespace fake
