#pragma once
// The common part of the readers of table formats. open_table() (file_table.hpp) chooses the
// reader.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/data_file.hpp"
#include "datasets/file_table.hpp"

namespace assay {

/// A table in a file. Its labels may be in a second file.
class FileTable : public DataTable {
 public:
  std::string canonical() const final;
  /// Makes the index, which reading rows needs, and, on several ranks, the canonical name. Ranks
  /// that opened the same file read a part each; a rank with its own copy reads the whole copy.
  /// Collective; an InputError on one rank is thrown on all ranks.
  void make_index(Communicator& ranks);

 protected:
  explicit FileTable(std::unique_ptr<DataFile> file) : file_(std::move(file)) {}
  const DataFile& file() const { return *file_; }

 private:
  /// Entries of the index for a share of the file; none by default.
  virtual std::vector<std::int64_t> index_share(Share) const { return {}; }
  /// Makes the index from the entries of all shares, in order.
  virtual void set_index(const std::vector<std::vector<std::int64_t>>&) {}
  /// read_rows() without the check that the file is the same as when it was opened.
  virtual void read_unchecked(std::int64_t first, std::int64_t count, double* x,
                              double* labels) const = 0;
  /// Content hash of the file of labels; "" if there is none.
  virtual std::string labels_hash() const { return ""; }
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const final;
  /// canonical() from the hashes of all pieces of the file.
  std::string make_name(const std::vector<std::string>& hashes) const;

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

std::unique_ptr<FileTable> open_npy(std::unique_ptr<DataFile> file,
                                    const DataTableOptions& options);
std::unique_ptr<FileTable> open_csv(std::unique_ptr<DataFile> file,
                                    const DataTableOptions& options);
std::unique_ptr<FileTable> open_libsvm(std::unique_ptr<DataFile> file,
                                       const DataTableOptions& options);
inline constexpr std::string_view npy_magic = "\x93NUMPY";

}  // namespace assay
