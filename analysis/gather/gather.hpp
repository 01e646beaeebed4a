#pragma once
// `assay gather`: combines many result files into one, with the rows of all nodes, each with its
// environment. Commands that read a folder of results give the same output for this file.

#include <filesystem>
#include <string>
#include <vector>

#include "core/result/run_header.hpp"

namespace assay {

struct GatherOptions {
  std::string system;              ///< name of the system; "": the name that all files have
  std::vector<std::string> nodes;  ///< expected nodes; empty: the nodes that have rows
  std::string command;
};

struct GatheredNodes {
  std::size_t runs = 0, rows = 0;
  std::vector<MissingNode> missing{};  ///< expected nodes without rows
};

/// Combines `files`, in their order, into the result file `out`; only some files are in memory at a
/// time. In its "run", "gathered" lists the runs, and "missing_nodes" the nodes without rows.
/// InputError as for read_result, for a run that is given twice, and for files that cannot be
/// combined, because they have different systems or different versions of the statistics.
GatheredNodes gather(const std::vector<std::filesystem::path>& files,
                     const std::filesystem::path& out, const GatherOptions& options);

}  // namespace assay
