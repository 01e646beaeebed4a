#pragma once
// The benchmark executables beside this one.

#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/paths.hpp"
#include "core/measure/case.hpp"

namespace assay {

/// Names of the benchmarks, sorted: "conv" for an executable file assay-conv in `folder`, which is
/// executable_folder() unless another build is meant.
std::vector<std::string> benchmark_names(const std::filesystem::path& folder = executable_folder());
/// The executable of a benchmark. InputError with the nearest name if there is none.
std::filesystem::path executable_of(const std::string& benchmark,
                                    const std::filesystem::path& folder = executable_folder());

/// InputError with file and pointer for a benchmark that `folder` lacks, or a baseline that there
/// is not.
void check_suite_names(const nlohmann::json& suite, const std::filesystem::path& file,
                       const std::filesystem::path& folder);

struct Listing {
  std::vector<Case> cases;
  std::string hash;  ///< of all that is told of them (--cases-hash); empty: too old for the flag
};

/// The cases of a benchmark in a suite, as its executable tells them: it alone knows its
/// dimensions and values. `scratch`: start of the names of two files for what it says.
/// `suite_hash`: the content that the suite must have, "" for any. `more`: further flags.
/// InputError in the executable's own words if it refuses the suite, CaseError if it cannot tell.
Listing listed_cases(const std::filesystem::path& executable, const std::filesystem::path& suite,
                     const std::vector<std::string>& launcher, const std::filesystem::path& scratch,
                     std::chrono::duration<double> timeout, const std::string& suite_hash = "",
                     const std::vector<std::string>& more = {});

}  // namespace assay
