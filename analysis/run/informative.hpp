#pragma once
// Which cases to run first where time may not suffice for all.

#include <cstddef>
#include <vector>

#include "core/measure/case.hpp"

namespace assay {

/// An order in which each next case is the one with the most settings (of threads, precision,
/// problem, …) that no case before it has; among equals those that the suite requires, then those
/// that it names first. Whatever is left out at the end then repeats settings that were seen.
std::vector<std::size_t> informative_order(const std::vector<Case>& cases);

}  // namespace assay
