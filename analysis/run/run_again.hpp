#pragma once
// The second step of a comparison: launches rows of earlier runs again.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/run/run_plan.hpp"

namespace assay {

/// One side of a comparison: the result of its run, and the ids of the cases to run again.
struct Again {
  std::string name;  ///< of its folder and in its progress lines
  nlohmann::json result;
  std::vector<std::string> ids;
  Chosen chosen{};  ///< programs and launcher; those that the result names are never executed
};

/// Runs the cases of each side with `launches` launches, interleaved with the other sides, with the
/// suite and flags of its run, and with the programs and launcher that the caller chooses. Returns
/// the results, which are in `folder`/NAME of each side. InputError if a run cannot be repeated
/// here: another machine, a changed suite, other programs. Unfinished as run_side_by_side.
std::vector<nlohmann::json> run_again(const std::vector<Again>& sides, int launches,
                                      const std::filesystem::path& folder);

}  // namespace assay
