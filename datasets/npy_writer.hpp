#pragma once
// Writes NPY files of fp64, "Format Version 1.0" of numpy.lib.format.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "datasets/table.hpp"

namespace assay {

/// An array in C order that is written front to back. The file has its name when it is complete
/// and on disk, not before: whoever reads it finds the old file or the new one. A pipe or a device
/// is written as it is.
class NpyWriter {
 public:
  /// CaseError: the file cannot be opened.
  NpyWriter(const std::filesystem::path& file, const std::vector<std::int64_t>& shape);
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;
  /// Removes what is not finished.
  ~NpyWriter();

  /// The next elements. CaseError: the disk is full. std::logic_error: more than the shape has.
  void append(std::span<const double> values);
  /// After the last element: to disk. std::logic_error: elements are missing. CaseError: as
  /// append().
  void sync();
  /// After sync(): the file has its name.
  void finish();

 private:
  [[noreturn]] void fail(int error) const;

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path file_, temporary_;  ///< temporary_ is empty for a pipe or a device
  std::int64_t left_ = 1;                   ///< elements that are still missing
  std::unique_ptr<std::FILE, Close> out_;
};

/// Writes the rows of a table to `file` [rows, features] and, unless `labels` is empty, its labels
/// [rows] to that. All or nothing. CaseError: a file cannot be written.
void write_npy(const Table& table, const std::filesystem::path& file,
               const std::filesystem::path& labels = {});

}  // namespace assay
