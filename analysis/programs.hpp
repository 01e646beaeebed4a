#pragma once
// The benchmark executables beside this one.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// Names of the benchmarks, sorted: "conv" for an executable file assay-conv in
/// executable_folder().
std::vector<std::string> benchmark_names();
/// The executable of a benchmark. InputError with the nearest name if there is none.
std::filesystem::path executable_of(const std::string& benchmark);

}  // namespace assay
