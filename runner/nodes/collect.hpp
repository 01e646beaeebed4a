#pragma once
// `assay collect`: copies the runs in the nodes' local folders into one folder, over messages
// between ranks that a launcher has started, one on each node. No shared file system is needed.

#include <filesystem>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"

namespace assay {

struct CollectOptions {
  std::filesystem::path local;  ///< on each node; its run is in LOCAL/<host name>
  std::filesystem::path out;    ///< existing folder of rank 0, which gets a folder for each host
  /// Send no files, only check before a run whether its files could be collected.
  bool prepare = false;
  /// With `prepare`: the run may continue the one that a node's local folder holds.
  bool resume = false;
};

struct Collection {
  std::vector<std::string> lines;  ///< for people, on rank 0; what is missing first
  ExitCode code = ExitCode::ok;    ///< the same on every rank
};

/// Collective. Rank 0 receives the files of one rank after the other, in messages of at most 4 MiB,
/// each with its checksum. OUT/<host> is renamed to its name when all of its files are on disk. An
/// existing folder is replaced only by a continuation of the same run. The code is usage (2) if
/// host names are equal or cannot be names of folders, or OUT does not exist; failed (7) if a node
/// has no files or they cannot be read, or the disk is full. The folders of the other nodes are
/// then complete. CaseError if a message is lost.
Collection collect(Communicator& ranks, const CollectOptions& options);

}  // namespace assay
