#pragma once
// The rows (lines) of a text file, found by an index of their positions.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "datasets/data_file.hpp"

namespace assay {

/// The lines of a file that are rows: not blank, and not only a comment.
class TextRows {
 public:
  struct Line {
    std::string_view text;  ///< without its end (LF or CR LF), and without a comment
    std::int64_t row;       ///< from 0
  };
  using Visitor = std::function<void(const Line&)>;

  /// The rows from the byte `begin` on. No row is known before set_index(). `comment` begins a
  /// comment ('\0' for none).
  TextRows(const DataFile& file, std::int64_t begin, char comment, std::int64_t index_bytes);
  /// Counts the rows that begin in each block of a share of the file, in one parallel pass. `seen`
  /// is called once with each of them, concurrently; Line::row is then unknown (-1). InputError for
  /// a line of more than 64 MiB.
  std::vector<std::int64_t> count(Share share, const Visitor& seen) const;
  /// The counts of all blocks, in order.
  void set_index(const std::vector<std::int64_t>& rows_of_blocks);
  std::int64_t rows() const { return rows_before_.back(); }
  /// Calls `visitor` with rows [first, first + count), in order. InputError if the file has changed
  /// and has fewer rows now.
  void visit(std::int64_t first, std::int64_t count, const Visitor& visitor) const;

 private:
  /// Calls `visitor` with the rows that begin in a block of the index; the first has number `row`.
  void visit_block(std::int64_t block, std::int64_t row, const Visitor& visitor) const;
  std::vector<char> read_lines(std::int64_t block) const;
  const DataFile& file_;
  std::int64_t begin_, index_bytes_;
  char comment_;
  std::vector<std::int64_t> rows_before_{0};  ///< each block; at the end, all rows
};

std::string_view strip_blanks(std::string_view text);

/// The number in the text, as std::from_chars reads it, after an optional plus sign; it may be
/// infinite or NaN. Nothing if the text is not a number or exceeds the range of fp64.
std::optional<double> number_in(std::string_view text);

/// The finite number in column `column` (from 0) of a row. InputError says what is there instead.
double finite_number(const DataFile& file, std::int64_t row, std::int64_t column,
                     std::string_view text);

/// The text for a message: at most 40 characters, only printable ones.
std::string printable_text(std::string_view text);

}  // namespace assay
