#pragma once
// Writes NPY files of fp64, "Format Version 1.0" of numpy.lib.format.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/temporary.hpp"
#include "datasets/table.hpp"

namespace assay {

/// Writes an array in C order, from front to back. The file gets its name only when it is complete
/// and on disk, so a reader finds either the old file or the new one. Pipes and devices are written
/// directly.
class NpyWriter {
 public:
  /// CaseError if the file cannot be opened.
  NpyWriter(const std::filesystem::path& file, const std::vector<std::int64_t>& shape);
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Appends the next elements. CaseError if the disk is full; std::logic_error if they are more
  /// than the shape has.
  void append(std::span<const double> values);
  /// Writes the file to disk, after the last element. std::logic_error if elements are missing;
  /// CaseError as append().
  void sync();
  /// Gives the file its name, after sync().
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path file_;
  std::optional<Temporary> temporary_;  ///< none for a pipe or a device
  std::int64_t left_ = 1;               ///< elements that are still missing
  std::unique_ptr<std::FILE, Close> out_;
};

/// Writes the rows of a table to `file` [rows, features] and, unless `labels` is empty, its labels
/// to `labels` [rows]. Writes both files or neither. CaseError if a file cannot be written.
void write_npy(const DataTable& table, const std::filesystem::path& file,
               const std::filesystem::path& labels = {});

}  // namespace assay
