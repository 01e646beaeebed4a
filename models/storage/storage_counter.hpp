#pragma once
// Evidence that bytes went to or came from storage and not a cache.

#include <filesystem>
#include <optional>
#include <string>

#include "datasets/images/read_counter.hpp"

namespace assay {

/// Bytes in one direction.
struct StorageBytes {
  double read = 0, written = 0;
};

/// Counts from begin() to end().
class StorageCounter final {
 public:
  /// `folder`: where the files are.
  explicit StorageCounter(const std::filesystem::path& folder);

  void begin();
  void end();
  /// Bytes of this thread that the kernel has counted for storage (read_bytes, write_bytes).
  const StorageBytes& of_thread() const { return of_thread_; }
  /// Bytes that the folder's block device has moved in this time, for any process; nothing if there
  /// is none (a network file system).
  const std::optional<StorageBytes>& of_device() const { return of_device_; }

 private:
  std::optional<StorageBytes> device_now() const;

  std::string device_file_;
  std::optional<ReadCounter> thread_;
  std::optional<StorageBytes> device_before_, of_device_;
  StorageBytes of_thread_;
};

/// Bytes of a file that are in memory but not yet at storage; 0 if the kernel cannot tell (before
/// 6.5).
double count_unwritten_bytes(const std::filesystem::path& file);

}  // namespace assay
