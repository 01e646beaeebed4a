#pragma once
// Files and folders that are removed when the process ends.

#include <sys/types.h>

#include <filesystem>

namespace assay {

/// A file or folder (with its content) that the caller creates. Unless keep() was called, the
/// destructor removes it, and so does a signal that ends the process (except SIGKILL, crashes, and
/// signals that a library handles).
class Temporary final {
 public:
  explicit Temporary(std::filesystem::path path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Does not remove it: it has got its final name.
  void keep();

 private:
  friend void remove_temporaries();
  std::filesystem::path path_;
  Temporary *before_ = nullptr, *next_ = nullptr;  ///< list of all objects of the process
  bool listed_ = true;
  pid_t owner_;  ///< a forked process has a copy of this object and must not remove the file
};

/// A hidden name in the folder of `target`, unique to this process, for a file that will be renamed
/// to it.
std::filesystem::path temporary_beside(const std::filesystem::path& target);

/// Removes all temporary files of the process. Async-signal-safe.
void remove_temporaries();

}  // namespace assay
