#pragma once
// Values of the command line that change nothing.

#include <map>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

/// Refuses a value that was asked for by name and that changes no case, since the other settings
/// give it no use (Benchmark::complete): InputError with the name of its flag. `before`: the
/// settings that were asked for, `after`: what they are completed to, in the same order.
void refuse_unused(const Benchmark& benchmark, const std::vector<Dimension>& axes,
                   const std::map<std::string, std::vector<std::string>>& asked,
                   const RankCount& started, const std::vector<Settings>& before,
                   const std::vector<Case>& after);

}  // namespace assay
