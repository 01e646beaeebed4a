#pragma once
// The order of cases for a run with a time limit that may not suffice for all of them.

#include <cstddef>
#include <vector>

#include "core/measure/case.hpp"

namespace assay {

/// Each next case is the one with the most settings (a value of threads, precision, problem, …)
/// that no earlier case has; of equal cases, those that the suite requires come first, then those
/// earlier in the suite. So the cases at the end, which may be left out, repeat settings that were
/// covered. Returns indices into `cases`.
std::vector<std::size_t> informative_order(const std::vector<Case>& cases);

}  // namespace assay
