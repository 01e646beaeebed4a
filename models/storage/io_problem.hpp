#pragma once
// The problems of assay-io: the data that one run moves between ranks and storage.

#include <cstdint>
#include <map>
#include <string>

#include "core/api/operation.hpp"

namespace assay {

enum class IoKind { write, read, metadata, random };

/// 0: not given.
struct IoSize {
  std::int64_t megabytes = 0;  ///< of 10^6 bytes: the checkpoint or the data set of all ranks
  std::int64_t count = 0;      ///< of each rank: files, or reads of a data set
  std::int64_t block = 0;      ///< of a read, in KiB
  std::int64_t bytes() const { return megabytes * 1000000; }
  std::int64_t block_bytes() const { return block * 1024; }
};

/// Parses "mb100", "n1000" or "mb100n1000kib4". InputError names the invalid field.
IoSize parse_io(const std::string& text);
std::string to_text(const IoSize& size);
/// The fields of this kind of operation, with defaults for missing ones.
IoSize complete_size(const IoSize& size, IoKind kind);

class IoProblem final : public Problem {
 public:
  IoProblem(IoKind kind, const IoSize& size, int ranks) : kind_(kind), size_(size), ranks_(ranks) {}
  std::string kind() const override { return "io"; }
  std::string canonical() const override { return to_text(size_); }
  nlohmann::json json() const override;
  double flops() const override { return 0; }
  double bytes() const override;  ///< that all ranks move in one run
  /// bytes_per_s, for random also reads_per_s; for metadata only files_per_s.
  std::map<std::string, double> amounts() const override;

 private:
  IoKind kind_;
  IoSize size_;
  int ranks_;
};

}  // namespace assay
