#pragma once
// Many result files as one: rows of all nodes, each with the environment that it had. What reads a
// folder of results reads this file with the same outcome.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

struct GatherOptions {
  std::string system;              ///< "": the one that the files name
  std::vector<std::string> nodes;  ///< that must have rows; empty: those that have some
  std::string command;
};

/// Writes the result file `out` of the result files, in their order; rows go through memory some
/// files at a time. Returns its "run", in which "gathered" lists the runs, and "missing_nodes" the
/// nodes without rows and why. InputError as read_result, for a run that is given twice, and for
/// files that cannot be one result: of several systems, of several versions of the statistics.
nlohmann::json gather(const std::vector<std::filesystem::path>& files,
                      const std::filesystem::path& out, const GatherOptions& options);

/// Whether two names are of one host: equal, or one is the other without its domain.
bool same_host(const std::string& a, const std::string& b);

}  // namespace assay
