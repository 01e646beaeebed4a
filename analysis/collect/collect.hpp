#pragma once
// `assay collect`: brings the runs in the nodes' local folders into one folder, over the ranks that
// a launcher has started, one on each node. No file system has to be shared.

#include <filesystem>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/base/error.hpp"

namespace assay {

struct CollectOptions {
  std::filesystem::path local;  ///< of each node: its run is in LOCAL/<host name>
  std::filesystem::path out;    ///< of rank 0, which exists: gets a folder for each host
  /// Sends nothing: finds out before a run whether its files could be collected.
  bool prepare = false;
};

struct Collected {
  std::vector<std::string> lines;  ///< for people, on rank 0; what is missing first
  ExitCode code = ExitCode::ok;    ///< the same on every rank
};

/// Collective. Rank 0 gets the files of one rank after the other, in messages of 4 MiB at most,
/// each with its checksum, and gives OUT/<host> its name when all of it is on disk. An existing
/// folder gives place to a continuation of its run alone. usage (2): hosts that cannot be folders,
/// or are equal; no folder OUT. failed (7): a node without files, or whose files cannot be had, or
/// a full disk; the other nodes' folders are whole. CaseError where messages are lost.
Collected collect(Communicator& ranks, const CollectOptions& options);

}  // namespace assay
