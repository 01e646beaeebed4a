#pragma once
// `assay collect`: copies the runs in the nodes' local folders into one folder, by messages between
// ranks that a launcher has started, one on each node. It needs no shared file system.

#include <filesystem>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"

namespace assay {

struct CollectOptions {
  std::filesystem::path local;  ///< on each node; its run is in LOCAL/<host name>
  std::filesystem::path out;    ///< existing folder of rank 0, which gets a folder for each host
  /// Sends no files. Only checks, before a run, that its files could be collected.
  bool prepare = false;
  /// With `prepare`: the run may continue the run in a node's local folder.
  bool resume = false;
};

struct Collection {
  std::vector<std::string> lines;  ///< for people, on rank 0; missing results first
  ExitCode code = ExitCode::ok;    ///< the same on every rank
};

/// Collective. Rank 0 receives the files of one rank after the other, in messages of at most 4 MiB,
/// each with its checksum. OUT/<host> gets its name when all of its files are on disk. An existing
/// folder is replaced only by a continuation of the same run. The code is usage (2) if host names
/// are equal or cannot be names of folders, or OUT does not exist; failed (7) if a node has no
/// files or they cannot be read, or the disk is full. The folders of the other nodes are then
/// complete. CaseError if a message is lost.
Collection collect(Communicator& ranks, const CollectOptions& options);

}  // namespace assay
