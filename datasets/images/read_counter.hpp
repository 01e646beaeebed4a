#pragma once
// Bytes that a thread has read and written, as the system counts them.

#include <cstdint>

namespace assay {

/// Counts what the read calls of the calling thread return, from its creation on: `rchar` of
/// /proc/thread-self/io, which counts bytes of every file system, cached or not. The reads of that
/// file itself are subtracted, so the count is exact.
class ReadCounter final {
 public:
  ReadCounter();
  /// True if the system counts.
  bool known() const { return begin_.known; }
  /// Bytes that read calls returned since the creation.
  std::int64_t requested();
  /// Bytes that a device delivered (`read_bytes`), including read-ahead. Some network file systems
  /// do not count them.
  std::int64_t from_device();
  /// Bytes that the thread wrote for a device (`write_bytes`), counted at the time of the write.
  std::int64_t to_device();

 private:
  struct Counts {
    bool known = false;
    std::int64_t requested = 0, from_device = 0, to_device = 0;
    std::int64_t own = 0;  ///< bytes of the text itself
  };
  static Counts counts();
  /// The counts since the creation. The bytes of this reading are added to `begin_`, and so never
  /// count.
  Counts next();
  Counts begin_;
};

}  // namespace assay
