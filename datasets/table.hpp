#pragma once
// The interface through which programs of data analysis read observations, generated or from files.

#include <cstdint>
#include <span>
#include <string>

namespace assay {

/// A table of observations (rows) and features (columns). Any rank and any thread can read any rows
/// at any time.
class DataTable {
 public:
  virtual ~DataTable() = default;
  DataTable() = default;
  DataTable(const DataTable&) = delete;
  DataTable& operator=(const DataTable&) = delete;

  virtual std::int64_t rows() const = 0;      ///< at least 1
  virtual std::int64_t features() const = 0;  ///< at least 1
  virtual bool has_labels() const = 0;
  /// The name of the data in the id of a result: "normal:n262144d250seed1",
  /// "iris.csv:n150d4:1f3c5a7e9b2d". The first call for a file reads all of it, to hash the
  /// content, and throws InputError as read() does.
  virtual std::string canonical() const = 0;

  /// Reads rows [first, first + count) into x, row-major, which has count * features() elements.
  /// `labels` has count elements, or none if labels are not wanted or the table has none. All
  /// values are finite. They are the same, bit by bit, however the rows are divided into reads.
  /// Concurrent reads are allowed. InputError if a file contains something that is not a number,
  /// has become unreadable, or has changed since it was opened. std::invalid_argument and
  /// std::out_of_range for mistakes of the caller.
  void read(std::int64_t first, std::span<double> x, std::span<double> labels = {}) const;

 private:
  /// `labels` is null or has `count` elements.
  virtual void read_rows(std::int64_t first, std::int64_t count, double* x,
                         double* labels) const = 0;
};

/// The same by `threads` OpenMP threads. Each thread reads the rows that a static schedule gives
/// it, so the thread that later uses rows is the first to touch their memory. If several reads
/// fail, the error of the first rows is thrown.
void read_parallel(const DataTable& table, std::int64_t first, std::span<double> x,
                   std::span<double> labels, int threads);

}  // namespace assay
