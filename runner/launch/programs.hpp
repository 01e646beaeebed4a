#pragma once
// The benchmark executables (by default those in the folder of this program), and their builds.

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/base/paths.hpp"
#include "core/base/temporary.hpp"
#include "core/measure/case.hpp"

namespace assay {

/// The folder with the executables of a build or an installation: its bin/ if it has one, else
/// itself.
std::filesystem::path find_executable_folder(const std::filesystem::path& build);
/// Names of the benchmarks, sorted: "conv" for an executable file assay-conv in `folder`. `folder`
/// is executable_folder() unless another build is meant.
std::vector<std::string> list_benchmark_names(
    const std::filesystem::path& folder = executable_folder());
/// The executable of a benchmark. InputError with the nearest name if there is none.
std::filesystem::path find_executable(const std::string& benchmark,
                                      const std::filesystem::path& folder = executable_folder());

/// The description of a benchmark: the first sentence of its --help. `scratch` as for
/// read_listing(). CaseError if the program fails.
std::string ask_description(const std::filesystem::path& executable,
                            const std::filesystem::path& scratch);

/// InputError with file and JSON pointer for a benchmark that is not in `folder`, or an unknown
/// baseline.
void check_suite_names(const nlohmann::json& suite, const std::filesystem::path& file,
                       const std::filesystem::path& folder);

/// Makes a temporary folder for the logs of benchmarks that only list their cases.
Temporary make_scratch_folder();

struct Listing {
  std::vector<Case> cases;
  std::string hash;                 ///< of the listing (--cases-hash)
  std::set<std::string> plugins{};  ///< plugins that the cases may use
};

/// The cases of a benchmark in a suite, as its executable lists them, because only this knows its
/// dimensions and values. `scratch`: prefix of the names of two temporary files. `suite_hash`:
/// required hash of the suite's content, "" for any. `more`: further flags. InputError with the
/// executable's message if it refuses the suite, CaseError if it fails.
Listing read_listing(const std::filesystem::path& executable, const std::filesystem::path& suite,
                     const std::vector<std::string>& launcher, const std::filesystem::path& scratch,
                     std::chrono::duration<double> timeout, const std::string& suite_hash = "",
                     const std::vector<std::string>& more = {});

/// The folder of the executables of a build. `build`: this folder, the folder that contains it as
/// bin/, or a program in it. InputError, naming `flag`, if no benchmark is there.
std::filesystem::path check_executable_folder(const std::string& build, const std::string& flag);

/// The folder of the executables, and a hash of the contents of the benchmarks, plugins and core
/// library. Paths are not part of the hash, so a build may be moved.
struct Installation {
  std::string programs, hash;
};
void to_json(nlohmann::json& json, const Installation& installation);
Installation read_installation(const std::filesystem::path& programs);

}  // namespace assay
