#pragma once
// Bytes that a thread has read and written, as the system counts them.

#include <cstdint>

namespace assay {

/// Counts what the read calls of the calling thread return, from its creation on: `rchar` of
/// /proc/thread-self/io, which has bytes of every file system, be they from its cache or not. The
/// reads of that file itself are subtracted, so the count is exact.
class ReadCounter final {
 public:
  ReadCounter();
  /// True if the system counts.
  bool known() const { return begin_.known; }
  /// Bytes since then.
  std::int64_t requested();
  /// Bytes of them that a device delivered (`read_bytes`), with what it read ahead. Some network
  /// file systems do not count here.
  std::int64_t from_device();
  /// Bytes that the thread has written and that a device gets (`write_bytes`), counted when the
  /// thread writes.
  std::int64_t to_device();

 private:
  struct Counts {
    bool known = false;
    std::int64_t requested = 0, from_device = 0, to_device = 0;
    std::int64_t own = 0;  ///< bytes of the text itself
  };
  static Counts counts();
  /// The counts now; what reading them adds goes to `begin_`.
  Counts next();
  Counts begin_;
};

}  // namespace assay
