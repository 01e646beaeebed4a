#pragma once
// A file of data: its bytes from any place and by any thread, and the check that it stays the same.

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace assay {

/// A regular file, open for reading. It is read by pread: of a mapped file that another process
/// shortens, a page that is gone would end the program by SIGBUS.
class DataFile {
 public:
  /// InputError: missing, unreadable, empty, or no regular file (a pipe or a device has no end that
  /// several readers could agree on).
  explicit DataFile(std::string path);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return status_.st_size; }
  /// Bytes [offset, offset + out.size()), which must be within size(). InputError: the file has
  /// become shorter, or cannot be read.
  void read(std::int64_t offset, std::span<char> out) const;
  /// InputError where the size or the time of modification differs from that at opening.
  void check_unchanged() const;
  /// The content, as 40 digits: SHA-1 of the SHA-1 of its pieces, which threads share.
  std::string content_hash() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  struct stat status_ = {};
};

/// body(i) for i in [0, count), on all OpenMP threads. Of several errors that of the least i is
/// thrown.
void for_each_parallel(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace assay
