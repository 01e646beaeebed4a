#pragma once
// The files of one case of assay-io: a folder of its own in the one that --folder names.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/api/communicator.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/temporary.hpp"

namespace assay {

/// The name of the file system of a folder ("ext4"), as the kernel calls it; its number where no
/// mount has the folder's device. InputError if there is no such folder.
std::string find_file_system(const std::filesystem::path& folder);

/// Rank 0 makes it and holds the lock of --folder; it is removed at the end, also by a signal that
/// ends the job (core/base/temporary.hpp).
class JobFolder final {
 public:
  /// InputError on all ranks if another job has the folder `parent`, if it cannot be written, or if
  /// some rank does not see what rank 0 has made there. Files that killed jobs of this host have
  /// left are removed. `keep`: it gets another name at the end. Collective.
  JobFolder(std::filesystem::path parent, bool keep, Communicator& ranks);
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  const std::filesystem::path& path() const { return folder_->path(); }
  /// The file that `rank` writes.
  std::filesystem::path find_file(int rank) const;
  /// CaseError if fewer bytes are free there.
  void expect_free(double bytes) const;

 private:
  void lock();
  void remove_left_over(const std::string& own) const;

  std::filesystem::path parent_;
  bool keep_, makes_;  ///< makes_: this is rank 0
  std::optional<FileDescriptor> lock_;
  std::unique_ptr<Temporary> lock_file_;  ///< removed before the lock is free
  std::unique_ptr<Temporary> folder_;     ///< removed before that
};

}  // namespace assay
