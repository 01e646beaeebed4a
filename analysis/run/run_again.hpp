#pragma once
// The second step of a comparison: rows of two earlier runs, launched again.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/run/run_plan.hpp"

namespace assay {

/// One side of a comparison: the result of its run, and the cases of it to run again.
struct Again {
  nlohmann::json result;
  std::vector<std::string> ids;
  Chosen chosen{};  ///< what may be executed: never what the file says
};

/// Runs the cases of each side again with `launches` launches, as its run was run (suite, flags),
/// with the programs and the launcher that the caller chooses, interleaved with the other sides;
/// returns the results, which are in `folder`/0, 1, … InputError where a run cannot be repeated
/// here: another machine, a changed suite, other programs. Unfinished as run_side_by_side.
std::vector<nlohmann::json> run_again(const std::vector<Again>& sides, int launches,
                                      const std::filesystem::path& folder);

}  // namespace assay
