#pragma once
// The folder of a node into which --stage copies a set of images, and the state of its files.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_descriptor.hpp"

namespace assay {

/// A file of the shared set.
struct StageFile {
  std::string name;  ///< relative to the folder of the set
  std::int64_t bytes = 0;
  std::string version;  ///< DataFile::identity() of the shared file; empty if it has no bytes
};

/// Consecutive bytes of a file, which one message carries.
struct StagePiece {
  std::size_t file = 0;  ///< index
  std::int64_t offset = 0, bytes = 0;
};

/// Files are read, passed on and written in pieces of this size; the last one may be smaller.
constexpr std::int64_t stage_piece = std::int64_t{8} << 20;

/// CRC-32C of bytes.
std::uint32_t stage_checksum(std::span<const char> bytes);

/// The names of Assay's own files in a folder of staged files.
inline constexpr const char* stage_manifest = ".assay-stage.json";
inline constexpr const char* stage_lock = ".assay-stage.lock";
inline constexpr const char* stage_partial = ".assay-stage.partial";

/// One process of a node owns the folder, from the constructor until the process ends. A file gets
/// its name when it is complete: written, synced, dropped from the page cache if possible, read
/// back, and equal to the bytes of its reader. The manifest names all files of the set, with size,
/// version of the shared file, checksum and state ("whole" or "missing"); it is replaced as a
/// whole. InputError for a folder that cannot be used, CaseError if a file cannot be written (a
/// full disk) or read back; both name the file and say what to do.
class StageFolder final {
 public:
  /// Locks the folder, which is created if it is missing. Removes files that a killed run has left
  /// unfinished, and staged files whose size, content or shared version differs. InputError also if
  /// another job uses it, or if it has files that no staging of this set has created: a folder
  /// without a manifest must be empty. `piece`: bytes of a piece.
  StageFolder(std::filesystem::path folder, std::vector<StageFile> files,
              std::int64_t piece = stage_piece);

  /// True if the file is there, with the checksum of its manifest.
  bool whole(std::size_t file) const { return checksums_[file].has_value(); }
  /// Number of files that the manifest listed as whole, but that differed and were removed.
  std::int64_t replaced() const { return replaced_; }

  /// Writes the next piece of a file that is not whole; pieces of one file come in order, those of
  /// several files in any. `checksum`: that of the reader. The last piece completes the file.
  void put(const StagePiece& piece, std::span<const char> bytes, std::uint32_t checksum);
  /// Writes the manifest.
  void save();
  /// The same after a failure: unfinished files are removed first, since the disk may be full.
  void give_up();

  /// Reads all files. Returns why one differs from the staged file, or "".
  std::string fault() const;

 private:
  std::filesystem::path path(std::size_t file) const { return folder_ / files_[file].name; }
  std::filesystem::path partial(std::size_t file) const;
  void lock();
  /// The checksums of the manifest, by index; nothing for a file that it does not list as whole.
  std::vector<std::optional<std::uint32_t>> read_manifest();
  void expect_empty() const;
  void keep_whole(const std::vector<std::optional<std::uint32_t>>& known);
  void make_empty_files();
  void complete(std::size_t file);
  [[noreturn]] void cannot_write(const std::filesystem::path& file, int error) const;

  std::filesystem::path folder_;
  std::vector<StageFile> files_;
  std::int64_t piece_;
  std::optional<FileDescriptor> lock_;
  std::vector<std::optional<std::uint32_t>> checksums_;  ///< of whole files
  std::vector<std::vector<std::uint32_t>> of_pieces_;    ///< of files that are being written
  std::int64_t replaced_ = 0;
  std::chrono::steady_clock::time_point saved_{};  ///< when the manifest was written last
  double save_s_ = 0;                              ///< its seconds
};

}  // namespace assay
