#pragma once
// The files of one case of assay-io, in their own folder within --folder.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/api/communicator.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/temporary.hpp"

namespace assay {

/// The kernel's name of a folder's file system ("ext4"); its number if no mount has the folder's
/// device. InputError if there is no such folder.
std::string find_file_system(const std::filesystem::path& folder);

/// Rank 0 makes the folder and holds the lock of --folder. The folder is removed at the end, even
/// if a signal ends the job (core/base/temporary.hpp).
class JobFolder final {
 public:
  /// InputError on all ranks if another job uses the folder `parent`, if it cannot be written, or
  /// if a rank does not see rank 0's new folder. Removes files that killed jobs of this host have
  /// left. `keep`: the folder is not removed, but renamed at the end. Collective.
  JobFolder(std::filesystem::path parent, bool keep, Communicator& ranks);
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  const std::filesystem::path& path() const { return folder_->path(); }
  /// The file that `rank` writes.
  std::filesystem::path find_file(int rank) const;
  /// CaseError if fewer than `bytes` bytes are free there.
  void expect_free(double bytes) const;

 private:
  void lock();
  void remove_left_over(const std::string& own) const;

  std::filesystem::path parent_;
  bool keep_, makes_;  ///< makes_: this is rank 0
  std::optional<FileDescriptor> lock_;
  std::unique_ptr<Temporary> lock_file_;  ///< removed before the lock is released
  std::unique_ptr<Temporary> folder_;     ///< removed before the lock's file
};

}  // namespace assay
