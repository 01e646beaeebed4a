#pragma once
// What the programs of data analysis read their observations from: generated data and files alike.

#include <cstdint>
#include <span>
#include <string>

namespace assay {

/// A table of observations (rows) of features, any rows of which any rank and any thread can read
/// at any time.
class Table {
 public:
  virtual ~Table() = default;
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  virtual std::int64_t rows() const = 0;      ///< at least 1
  virtual std::int64_t features() const = 0;  ///< at least 1
  virtual bool has_labels() const = 0;
  /// How the id of a row of results names the data: "normal:n262144d250seed1",
  /// "iris.csv:n150d4:1f3c5a7e9b2d". Of a file, the first call reads the whole file (its content
  /// hash); InputError as read().
  virtual std::string canonical() const = 0;

  /// Rows [first, first + count), where x has count * features() elements, row-major. `labels` has
  /// count elements, or none where labels are not wanted or the table has none. All values are
  /// finite. Any split of the rows into reads gives the same values, bit by bit; concurrent reads
  /// are allowed.
  /// InputError: a file holds what is no number, has become unreadable, or has changed since it
  /// was opened. std::invalid_argument, std::out_of_range: mistakes of the caller.
  void read(std::int64_t first, std::span<double> x, std::span<double> labels = {}) const;

 private:
  /// `labels` is null or has `count` elements.
  virtual void read_rows(std::int64_t first, std::int64_t count, double* x,
                         double* labels) const = 0;
};

/// The same read by `threads` OpenMP threads, each its own part of the rows, in their order (so
/// that x is first touched by the thread of a static schedule). Of several errors that of the first
/// rows is thrown.
void read_parallel(const Table& table, std::int64_t first, std::span<double> x,
                   std::span<double> labels, int threads);

}  // namespace assay
