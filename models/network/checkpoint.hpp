#pragma once
// A checkpoint is one file with everything that a training needs to continue:
//   8 bytes   "ASSAYCKP"
//   8 bytes   length of the header (little-endian)
//   4 bytes   CRC-32C of the above and of the header (little-endian)
//   header    JSON: {"format":3,"byte_order":"little","architecture":…,"state":{…},
//             "blobs":[{"name":…,"bytes":…,"crc32c":…}]}
//   blobs     one after the other

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// Named bytes: weights, velocities, running statistics.
struct CheckpointBlob {
  std::string name;
  std::span<const std::byte> bytes;
};

struct CheckpointCost {
  std::int64_t bytes = 0;  ///< size of the file
  double seconds = 0;      ///< from the first checksum until the folder was synced
};

/// Replaces `file` completely or not at all (core/result/whole_file.hpp; the temporary file is
/// `file`.partial), so it is a complete checkpoint at any time. `architecture` names the network of
/// the blobs. `state` belongs to the caller (step, sampler, loss scale). CaseError if the file
/// cannot be written; the previous checkpoint then remains, and the partial file is removed.
/// std::logic_error if `state` has numbers that are not finite.
CheckpointCost write_checkpoint(const std::filesystem::path& file, const std::string& architecture,
                                const nlohmann::json& state, std::span<const CheckpointBlob> blobs);

/// InputError if a file with the name of write_checkpoint()'s temporary file exists and is not the
/// remainder of a killed program: write_checkpoint() would remove it.
void expect_no_other_partial(const std::filesystem::path& file);

/// A checkpoint in memory.
class Checkpoint {
 public:
  /// Reads a checkpoint and checks all of it. InputError if it is missing, truncated, damaged, not
  /// a checkpoint, or has another format, byte order or architecture.
  Checkpoint(const std::filesystem::path& file, const std::string& architecture);

  const nlohmann::json& state() const { return state_; }
  /// CRC-32C of the header, which contains the CRC-32C of each blob; so equal checkpoints have
  /// equal values.
  std::uint32_t check() const { return check_; }
  /// Copies the blob `name` to `out`. InputError if there is none of this name and size.
  void copy(const std::string& name, std::span<std::byte> out) const;
  /// The blob `name`. InputError if there is none.
  std::span<const std::byte> bytes(const std::string& name) const;

 private:
  struct Blob {
    std::string name;
    std::vector<char> bytes;
  };
  std::string file_;
  nlohmann::json state_;
  std::uint32_t check_ = 0;
  std::vector<Blob> blobs_;
};

}  // namespace assay
