#pragma once
// What the readers of table formats share. open_table() (file_table.hpp) chooses the reader.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "datasets/data_file.hpp"
#include "datasets/file_table.hpp"

namespace assay {

/// A table in a file. Its labels may be in a second file.
class FileTable : public Table {
 public:
  std::string canonical() const final;

 protected:
  explicit FileTable(std::unique_ptr<DataFile> file) : file_(std::move(file)) {}
  const DataFile& file() const { return *file_; }

 private:
  /// read_rows() without the check that the file is the same as when it was opened.
  virtual void read_unchecked(std::int64_t first, std::int64_t count, double* x,
                              double* labels) const = 0;
  /// Content hash of the file of labels; "" if there is none.
  virtual std::string labels_hash() const { return ""; }
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const final;

  std::unique_ptr<DataFile> file_;
  mutable std::mutex mutex_;
  mutable std::string canonical_;  ///< guarded by mutex_
};

/// InputError "FILE: PROBLEM".
[[noreturn]] void refuse(const DataFile& file, const std::string& problem);
/// InputError "FILE, row R, column C: PROBLEM"; `row` and `column` count from 0.
[[noreturn]] void refuse(const DataFile& file, std::int64_t row, std::int64_t column,
                         const std::string& problem);
/// InputError unless both are at least 1 and the size of the table in bytes fits 64 bits.
void check_size(const DataFile& file, std::int64_t rows, std::int64_t features);

std::unique_ptr<Table> open_npy(std::unique_ptr<DataFile> file, const TableOptions& options);
std::unique_ptr<Table> open_csv(std::unique_ptr<DataFile> file, const TableOptions& options);
std::unique_ptr<Table> open_libsvm(std::unique_ptr<DataFile> file, const TableOptions& options);
inline constexpr std::string_view npy_magic = "\x93NUMPY";

}  // namespace assay
