#pragma once
// Evidence that bytes went to storage or came from there, and not from a cache.

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
  /// Bytes that the block device of the folder has moved meanwhile, for whomever; nothing if the
  /// folder has none (a file system of the network).
  const std::optional<StorageBytes>& of_device() const { return of_device_; }

 private:
  std::optional<StorageBytes> device_now() const;

  std::string device_file_;
  std::optional<ReadCounter> thread_;
  std::optional<StorageBytes> device_before_, of_device_;
  StorageBytes of_thread_;
};

/// Bytes of a file that are in memory and not yet at storage; 0 if the kernel does not tell (before
/// 6.5).
double count_unwritten_bytes(const std::filesystem::path& file);

}  // namespace assay
