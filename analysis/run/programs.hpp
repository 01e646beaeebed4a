#pragma once
// The benchmark executables beside this one.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/case.hpp"

namespace assay {

/// Names of the benchmarks, sorted: "conv" for an executable file assay-conv in
/// executable_folder().
std::vector<std::string> benchmark_names();
/// The executable of a benchmark. InputError with the nearest name if there is none.
std::filesystem::path executable_of(const std::string& benchmark);

/// The cases of one benchmark in a suite, as its executable tells them: it alone knows its
/// dimensions and values. `scratch`: start of the names of two files for what it says. InputError
/// in the executable's own words if it refuses the suite, CaseError if it cannot tell.
std::vector<Case> listed_cases(const std::string& benchmark, const std::filesystem::path& suite,
                               const std::vector<std::string>& launcher,
                               const std::filesystem::path& scratch,
                               std::chrono::duration<double> timeout);

}  // namespace assay
