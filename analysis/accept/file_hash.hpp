#pragma once
// The hash of a file, which identifies the input files of a document.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// The SHA-256 (FIPS 180-4) of a file's bytes in hexadecimal digits, as `sha256sum` prints it.
/// InputError if it cannot be read.
std::string file_sha256(const std::filesystem::path& file);

/// A file that was read, and its hash.
struct HashedFile {
  std::string file{}, sha256{};
};
using ChangeTime = std::filesystem::file_time_type;
/// When each file was last changed; min() for a file that does not exist.
std::vector<ChangeTime> read_change_times(const std::vector<std::filesystem::path>& files);
/// Hashes files that were read after `times` were taken, in parallel. InputError if a file has
/// changed since then, because the data that were read would have another hash.
std::vector<HashedFile> hash_files(const std::vector<std::filesystem::path>& files,
                                   const std::vector<ChangeTime>& times);

}  // namespace assay
