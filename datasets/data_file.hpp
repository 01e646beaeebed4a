#pragma once
// A data file: reads of any part by any thread, and a check that the file has not changed.

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// The part of the work that one of several readers of a file does.
struct Share {
  std::int64_t index = 0, readers = 1;
  /// Its items, out of `count`: from begin(count) up to end(count).
  std::int64_t begin(std::int64_t count) const {
    return index * (count / readers) + std::min(index, count % readers);
  }
  std::int64_t end(std::int64_t count) const { return Share{index + 1, readers}.begin(count); }
};

/// A regular file, open for reading. It is read by pread and not mapped: if another process
/// shortened a mapped file, reading a missing page would end the program by SIGBUS.
class DataFile {
 public:
  /// InputError if the file is missing, unreadable, empty or not a regular file (several readers
  /// cannot share a pipe or a device).
  explicit DataFile(std::string path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return status_.st_size; }
  /// Reads bytes [offset, offset + out.size()), which must be within size(). InputError if the file
  /// has become shorter or cannot be read.
  void read(std::int64_t offset, std::span<char> out) const;
  /// InputError if size or modification time differ from those at opening.
  void check_unchanged() const;
  /// Equal for two open files if they are the same version of one file, even if several nodes share
  /// its file system. A copy has another identity.
  std::string identity() const;
  /// SHA-1 hashes of pieces of the content, which threads compute.
  std::vector<std::string> hashes(Share share) const;
  /// Hash of the content: the hash of the hashes of all pieces, in order.
  static std::string content_hash(const std::vector<std::string>& hashes);

 private:
  std::string path_;
  int descriptor_ = -1;
  struct stat status_ = {};
};

/// Calls body(i) for i in [0, count), on all OpenMP threads. If several calls throw, the error of
/// the least i is thrown.
void for_each_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace assay
