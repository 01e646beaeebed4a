#pragma once
// Values on the command line that have no effect.

#include <map>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

/// Throws InputError, with the name of the flag, if a value in `values_by_axis` affects no case:
/// for every case that requests it, Benchmark::complete replaces it. `before`: the requested
/// settings; `after`: the completed cases, in the same order.
void refuse_unused(const Benchmark& benchmark, const std::vector<Dimension>& axes,
                   const std::map<std::string, std::vector<std::string>>& values_by_axis,
                   const RankCount& started, const std::vector<Settings>& before,
                   const std::vector<Case>& after);

}  // namespace assay
