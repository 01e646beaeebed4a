#pragma once
// Rank 0's side of `assay collect`: the folder that a node's files go to.

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "analysis/collect/node_files.hpp"
#include "core/base/error.hpp"

namespace assay::collecting {

/// The disk of rank 0 takes nothing more: no other node's files will fit, either.
class Unwritable : public CaseError {
 public:
  using CaseError::CaseError;
};

/// Where the files of nodes that are not yet whole lie, below --out. Results are not looked for in
/// hidden folders.
inline constexpr const char* staging_name = ".collecting";

/// One node's folder, there as a whole or not at all: files are written and synced beside it, and
/// it gets its name at last. An earlier folder stays until then.
class NodeFolder final {
 public:
  /// CaseError if OUT/<node> exists but holds no run. Unwritable if nothing can be written there.
  NodeFolder(const std::filesystem::path& out, const std::string& node);
  /// Removes what was not committed.
  ~NodeFolder();
  NodeFolder(const NodeFolder&) = delete;
  NodeFolder& operator=(const NodeFolder&) = delete;

  const Earlier& earlier() const { return earlier_; }
  /// A file's head, or bytes of it. Unwritable; CaseError for messages that make no sense.
  void take(const Message& message);
  /// All files were taken: the folder gets its name.
  void commit();
  std::size_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  class OutFile;
  void finish_file();

  std::filesystem::path out_, final_, staging_, old_;
  Earlier earlier_;
  std::unique_ptr<OutFile> file_;
  std::set<std::filesystem::path> folders_;  ///< that hold files, to be synced
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace assay::collecting
