#pragma once
// Staging: before the timed reading, the files of a set are read once from shared storage and kept
// in a folder of every node.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/input/stage_folder.hpp"
#include "models/input/staging_cost.hpp"

namespace assay {

/// A staged set, as a rank sees it.
struct StagedSet {
  std::string data;                ///< path of the set in the node's folder, for open_samples()
  std::filesystem::path folder;    ///< of the node
  std::vector<std::string> names;  ///< of its files
  StagingCost cost;                ///< equal on all ranks
  /// Null except on the first rank of each node.
  std::shared_ptr<const StageFolder> kept;
};

struct StageOptions {
  bool cold = false;  ///< drop the shared files from the page cache before they are read
  std::int64_t piece = stage_piece;
};

/// The folder of a node: "{node}" in `folder` is replaced by its number.
std::string name_stage_folder(const std::string& folder, int node);

/// Copies the set `data` (a path as for open_samples()) into `folder` of each node. The first rank
/// of one node reads each file that a node lacks once; files are divided among the nodes, so that
/// all nodes read at the same time, and broadcast pieces while they read the next ones. Memory:
/// four pieces a node. InputError or CaseError on all ranks: as StageFolder; if two nodes share a
/// folder, or it lies in the set (nothing is then created); if a shared file changes while it is
/// read; if the system counts no reads. Collective.
StagedSet stage(const std::string& data, const std::string& folder, const StageOptions& options,
                Communicator& ranks);

}  // namespace assay
