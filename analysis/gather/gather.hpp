#pragma once
// `assay gather`: combines many result files into one, with the rows of all nodes, each with its
// environment. Commands that read a folder of results give the same output for this file.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

struct GatherOptions {
  std::string system;              ///< name of the system; "": the one that all files have
  std::vector<std::string> nodes;  ///< expected nodes; empty: those that have rows
  std::string command;
};

/// Combines `files`, in their order, into the result file `out`; only some files are in memory at a
/// time. Returns the "run" of the new file, in which "gathered" lists the runs, and "missing_nodes"
/// the nodes without rows and the reasons. InputError as read_result, for a run that is given
/// twice, and for files that cannot be combined: of different systems, or of different versions of
/// the statistics.
nlohmann::json gather(const std::vector<std::filesystem::path>& files,
                      const std::filesystem::path& out, const GatherOptions& options);

/// A host's name without its domain: equal for names of one host.
std::string short_name(const std::string& host);
/// Whether two names are of one host: equal, or one is the other without its domain.
bool same_host(const std::string& a, const std::string& b);

}  // namespace assay
