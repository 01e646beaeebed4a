#pragma once
// Columns of text, for a terminal, as Markdown, or as LaTeX for papers (only the package booktabs
// is needed).

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// The text of a cell, and the number that it shows, if it shows one: with all digits, in SI units.
struct Cell {
  std::string text;
  std::optional<double> number{};

  Cell(const char* shown) : text(shown) {}
  Cell(std::string shown, std::optional<double> value = std::nullopt)
      : text(std::move(shown)), number(value) {}
};

struct Column {
  std::string title;
  bool right = false;  ///< aligned right, for numbers
};

/// A line of cells. `note` replaces all cells after the last one given: a reason where there is no
/// result.
struct Line {
  std::vector<std::string> cells;
  std::string note{};
  std::vector<std::optional<double>> numbers{};  ///< of the cells that add() has added, by column

  void add(Cell cell);
};

/// Columns of these titles; one that begins with ">" is aligned right.
std::vector<Column> titled(const std::vector<std::string>& titles);

/// Columns and lines, in the making.
struct Table {
  std::vector<Column> columns{};
  std::vector<Line> lines{};

  /// Adds a column. `cell` gives its text in each line, by the number of the line; lines with a
  /// note end before it.
  template <class MakeCell>
  void add(Column column, const MakeCell& cell) {
    columns.push_back(std::move(column));
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (lines[i].note.empty()) lines[i].add(cell(i));
  }
  /// Takes a column out; its cells.
  std::vector<std::string> take(std::size_t column);
  /// Columns of characters of each column on a terminal.
  std::vector<std::size_t> widths() const;
  /// Whether no line is longer than table_width on a terminal.
  bool fits() const;
};

/// Text that is safe on a terminal: control characters, characters that change the writing
/// direction, and invalid UTF-8 become U+FFFD; line breaks and tabs become spaces.
std::string visible(const std::string& text);
/// The same for Markdown: special characters are escaped.
std::string markdown_text(const std::string& text);

/// Columns of characters that a table and its notes should fit. `assay` sets it to the width of the
/// terminal that the output goes to.
inline std::size_t table_width = 120;
/// Whether a note that does not fit gets several lines: on a terminal; a script reads it whole.
inline bool wraps_notes = false;
/// The text with line breaks for blanks, so that no line is longer than `width` (a longer word
/// stays whole); lines after the first are indented by two.
std::string wrapped(const std::string& text, std::size_t width);

/// The text, or, if it is longer than `width` columns, its beginning and "…".
std::string shortened(const std::string& text, std::size_t width);

/// Applies visible() to titles, cells and notes.
std::string terminal_table(const std::vector<Column>& columns, const std::vector<Line>& lines);
/// A note is put into the first missing cell; all text is escaped.
std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines);
/// RFC 4180. Text that a spreadsheet would evaluate as a formula gets a leading quote.
std::string csv_table(const std::vector<Column>& columns, const std::vector<Line>& lines);

/// "1 node", "2 nodes". `plural`: what is added for a number other than 1.
std::string counted(std::size_t count, const std::string& what, const std::string& plural = "s");
/// The singular or the plural form of a word: by_count(n, "is", "are").
inline const char* by_count(std::size_t count, const char* singular, const char* plural) {
  return count == 1 ? singular : plural;
}

/// Columns on a terminal: the number of code points (Assay writes no combining or wide characters).
std::size_t shown_width(const std::string& text);

/// Text for LaTeX with its special characters escaped, after visible().
std::string latex_text(const std::string& text);

/// A tabular. If all numbers of a column have units of one kind, its head names the most frequent
/// unit and the cells have their numbers in it, with the printed digits. Decimal points are below
/// each other; a mark behind a number takes no width. A note spans the columns that are left.
std::string latex_table(const Table& table);

}  // namespace assay
