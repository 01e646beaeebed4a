#pragma once
// Files and folders that end with the process.

#include <sys/types.h>

#include <filesystem>

namespace assay {

/// A file or folder with all in it, which the caller creates. It is removed by the destructor, or
/// by a signal that ends the process (but for SIGKILL, crashes, and signals that a library
/// handles), unless keep() was called.
class Temporary final {
 public:
  explicit Temporary(std::filesystem::path path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// It has become what it was made for, under another name.
  void keep();

 private:
  friend void remove_temporaries();
  std::filesystem::path path_;
  Temporary *before_ = nullptr, *next_ = nullptr;  ///< of all that the process has
  bool listed_ = true;
  pid_t owner_;  ///< a process that it forks has a copy of this
};

/// A name in the folder of `target` for what will become it: hidden, and of this process alone.
std::filesystem::path temporary_beside(const std::filesystem::path& target);

/// Removes all that the process has. Async-signal-safe.
void remove_temporaries();

}  // namespace assay
