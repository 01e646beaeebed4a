#pragma once
// What the readers of the formats share; open_table() chooses among them.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "datasets/data_file.hpp"
#include "datasets/file_table.hpp"

namespace assay {

/// A table in one file (and perhaps labels in another).
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
  /// Of a second file of labels; "" of none.
  virtual std::string labels_hash() const { return ""; }
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const final;

  std::unique_ptr<DataFile> file_;
  mutable std::mutex mutex_;
  mutable std::string canonical_;  ///< under the mutex
};

/// InputError "FILE: PROBLEM".
[[noreturn]] void refuse(const DataFile& file, const std::string& problem);
/// InputError "FILE, row R, column C: PROBLEM"; `row` and `column` count from 0.
[[noreturn]] void refuse(const DataFile& file, std::int64_t row, std::int64_t column,
                         const std::string& problem);
/// InputError unless both are at least 1 and the elements can be counted in 64 bits, as bytes.
void check_size(const DataFile& file, std::int64_t rows, std::int64_t features);

std::unique_ptr<Table> open_npy(std::unique_ptr<DataFile> file, const TableOptions& options);
std::unique_ptr<Table> open_csv(std::unique_ptr<DataFile> file, const TableOptions& options);
std::unique_ptr<Table> open_libsvm(std::unique_ptr<DataFile> file, const TableOptions& options);
inline constexpr std::string_view npy_magic = "\x93NUMPY";

}  // namespace assay
