#pragma once
// The shared files of a set that is staged: their list, and the reader of one node.

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "datasets/data_file.hpp"
#include "models/input/stage_folder.hpp"

namespace assay {

struct StageListing {
  std::filesystem::path folder;  ///< shared
  std::string pattern;           ///< SetFiles::pattern
  std::vector<StageFile> files;
};

/// Rank 0 lists the files of the set `data` for all ranks, without reading them. Throws
/// InputError on all ranks if `data` names no set. Collective.
StageListing list_stage_files(const std::string& data, Communicator& ranks);

/// The unit that one node reads before it passes it on: pieces of one file, or small files as a
/// whole.
using StageChunk = std::vector<StagePiece>;
std::int64_t count_bytes(const StageChunk& chunk);

/// Reads the chunks of one node from the shared folder, one after the other.
class SharedReader final {
 public:
  struct FileRead {
    std::vector<char> bytes;
    std::vector<std::uint32_t> checksums;  ///< by piece
  };

  /// `listing` must outlive it.
  explicit SharedReader(const StageListing& listing) : listing_(listing) {}
  /// Reads in a separate thread, whose reads the kernel counts. `chunk` must outlive the future.
  /// The future throws InputError if a file differs from the listed one or changes meanwhile.
  std::future<FileRead> start(const StageChunk& chunk);

  /// Amounts that all threads have read; valid while none reads.
  double read_bytes = 0, device_bytes = 0, seconds = 0;

 private:
  FileRead read(const StageChunk& chunk);
  void open_file(const StageFile& file);

  const StageListing& listing_;
  std::optional<DataFile> opened_;
};

}  // namespace assay
