#pragma once
// What the system counts of this process's reads, and what of files is in its page cache.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// Of /proc/self/io, since the process began: all its threads, all its files.
struct ProcessIo {
  std::int64_t requested = 0;    ///< bytes that read calls returned (rchar)
  std::int64_t from_device = 0;  ///< bytes that storage delivered (read_bytes), read ahead included
};
/// Nothing where the system does not tell.
std::optional<ProcessIo> process_io();

/// Bytes of these files that are in the page cache, over all their bytes. CaseError: a file cannot
/// be opened or mapped.
double cached_part(const std::vector<std::string>& files);
/// Writes what is not on the disk yet, then asks the system to forget the pages of these files. It
/// need not obey: ask cached_part(). CaseError: a file cannot be opened.
void drop_from_cache(const std::vector<std::string>& files);

}  // namespace assay
