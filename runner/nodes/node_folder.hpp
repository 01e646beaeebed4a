#pragma once
// Rank 0's side of `assay collect`: the folder for a node's files.

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "runner/nodes/node_files.hpp"

namespace assay::collecting {

/// Nothing can be written on the disk of rank 0, so the files of the other nodes will not fit,
/// either.
class WriteFailure : public CaseError {
 public:
  using CaseError::CaseError;
};

/// Folder below --out for the files of incomplete nodes. It is hidden, because readers of results
/// skip hidden folders.
inline constexpr const char* staging_name = ".collecting";

/// The folder of one node, which appears complete or not at all. Files are written to staging_name
/// and synced, and it is renamed at the end. An earlier folder stays until then.
class NodeFolder final {
 public:
  /// CaseError if OUT/<node> exists but holds no run. Unwritable if nothing can be written there.
  NodeFolder(const std::filesystem::path& out, const std::string& node);
  /// Removes what was not committed.
  ~NodeFolder();
  NodeFolder(const NodeFolder&) = delete;
  NodeFolder& operator=(const NodeFolder&) = delete;

  const Earlier& earlier() const { return earlier_; }
  /// Takes a message file or data. Unwritable if it cannot be written; CaseError for an invalid
  /// message.
  void take(const Message& message);
  /// Call it after the last file: gives the folder its name.
  void commit();
  std::size_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  class OutFile;
  void finish_file();

  std::filesystem::path out_, final_, staging_, old_;
  Earlier earlier_;
  std::unique_ptr<OutFile> file_;
  std::set<std::filesystem::path> folders_;  ///< folders with files, to be synced
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace assay::collecting
