#pragma once
// Checkpoints: what a training run needs to continue, in one file.
//
// 8 bytes "ASSAYCKP"; the length of the header (8 bytes, little-endian); the CRC-32C of all that
// and of the header (4 bytes, little-endian); the header, which is JSON; the blobs, one after the
// other. The header:
//
// {"format":2,"byte_order":"little","architecture":…,"state":{…},
//  "blobs":[{"name":…,"bytes":…,"crc32c":…}]}

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// Bytes with a name: weights, velocities, running statistics.
struct CheckpointBlob {
  std::string name;
  std::span<const std::byte> bytes;
};

/// What writing has cost, from the first checksum to the synced folder.
struct CheckpointCost {
  std::int64_t bytes = 0;  ///< of the file
  double seconds = 0;
};

/// Writes `FILE.partial`, syncs it to the disk, renames it to `file` and syncs the folder, so that
/// `file` is the last whole checkpoint at any time. `architecture` names what the blobs belong to;
/// `state` is the caller's (step, sampler, loss scale) and is read as it was written.
/// CaseError: an unwritable place, a full disk; the last checkpoint then stands, and the partial
/// file is removed. std::logic_error: `state` has numbers that are not finite.
CheckpointCost write_checkpoint(const std::filesystem::path& file, const std::string& architecture,
                                const nlohmann::json& state, std::span<const CheckpointBlob> blobs);

/// A checkpoint in memory, all of it checked.
class Checkpoint {
 public:
  /// InputError: the file is missing, truncated, damaged, no checkpoint, of another format or byte
  /// order, or of another architecture.
  Checkpoint(const std::filesystem::path& file, const std::string& architecture);

  const nlohmann::json& state() const { return state_; }
  /// Copies the blob `name` to `out`. InputError: there is none of that name and size.
  void copy(const std::string& name, std::span<std::byte> out) const;

 private:
  struct Blob {
    std::string name;
    std::vector<char> bytes;
  };
  std::string file_;
  nlohmann::json state_;
  std::vector<Blob> blobs_;
};

}  // namespace assay
