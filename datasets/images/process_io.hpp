#pragma once
// Reads of this process as the system counts them, and the part of files in the page cache.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// Counters of /proc/self/io since the process began, of all its threads and files.
struct ProcessIo {
  std::int64_t requested = 0;    ///< bytes that read calls returned (rchar)
  std::int64_t from_device = 0;  ///< bytes that storage delivered (read_bytes), with read-ahead
};
/// Nothing if the system does not report them.
std::optional<ProcessIo> process_io();

/// The part of these files' bytes that is in the page cache, from 0 to 1. CaseError if a file
/// cannot be opened or mapped.
double measure_cached_part(const std::vector<std::string>& files);
/// Writes modified pages of these files to disk, then asks the system to drop their pages from the
/// cache. The system may not do it: check by measure_cached_part(). CaseError if a file cannot be
/// opened.
void drop_from_cache(const std::vector<std::string>& files);

}  // namespace assay
