#pragma once
// Columns of text, for a terminal, as Markdown, or as LaTeX for papers (only the package booktabs
// is needed).

#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// The text of a cell and, if it shows a number, that number with all digits, in SI units.
struct Cell {
  std::string text;
  std::optional<double> number{};

  Cell(const char* shown) : text(shown) {}
  Cell(std::string shown, std::optional<double> value = std::nullopt)
      : text(std::move(shown)), number(value) {}
};

/// The notes below a table: each line once, and the citations of a system in one line.
class Legend {
 public:
  /// Nothing for "".
  void add(const std::string& line);
  void cite(const std::string& system, const std::string& citation);
  /// Adds the part of a baseline's note that the columns and marks of the table do not already
  /// show.
  void note(const std::string& system, const std::string& note, bool algorithm_shown);
  /// "[1]", the number of a reason in the list below the table. Equal reasons have the same number.
  std::string footnote(const std::string& reason);
  /// Appends the lines of `other`, which must have no footnotes.
  void merge(const Legend& other);
  /// Citations, lines, footnotes.
  std::vector<std::string> lines() const;

 private:
  std::set<std::string> seen_;
  std::vector<std::string> lines_, footnotes_;
  std::map<std::string, std::set<std::string>> citations_;
};

struct Column {
  std::string title;
  bool right = false;  ///< aligned right, for numbers
  std::string key{};   ///< the name by which it is chosen; "": the title
  /// above 0: a column that a too wide table on a terminal leaves out, the greatest first
  int spare = 0;
  bool measured = false;  ///< a line without a result has no cell of it
  bool whole = false;     ///< its cells are never broken: commands to paste
  Legend legend{};        ///< explains its cells
};

/// A line of cells. `note` replaces all cells after the last one given: a reason if there is no
/// result.
struct Line {
  std::vector<std::string> cells;
  std::string note{};
  std::vector<std::optional<double>> numbers{};  ///< of the cells that add() has added, by column

  void add(Cell cell);
};

/// All digits of a number, as JSON has them; "" if there is none.
std::string digits(const std::optional<double>& number);

/// Columns with these titles. A title that begins with ">" is aligned right, one that ends with
/// "|2" is spare (2).
std::vector<Column> make_columns(const std::vector<std::string>& titles);

/// Columns and lines of a table that is being built.
struct Table {
  std::vector<Column> columns{};
  std::vector<Line> lines{};

  /// Adds a column. `cell` gives its text in each line, by the number of the line; lines with a
  /// note end before this column.
  template <class MakeCell>
  void add(Column column, const MakeCell& cell) {
    columns.push_back(std::move(column));
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (lines[i].note.empty()) lines[i].add(cell(i));
  }
  /// The index of a column by its key or title; the number of columns if there is none.
  std::size_t find(const std::string& name) const;
  /// Removes a column, and returns its cells.
  std::vector<std::string> take(std::size_t column);
  /// The same, if the texts of the column can be lines above the others. Returns the text for each
  /// line, "" below the same text; {} if too few lines have the same text, and the column stays.
  std::vector<std::string> take_headings(std::size_t column);
  /// Puts each text that is not "" above its line.
  void add_headings(const std::vector<std::string>& headings);
  /// The width of each column on a terminal, in characters.
  std::vector<std::size_t> widths() const;
  /// True if the columns with less than this `spare` fit into table_width.
  bool fits(int spare = std::numeric_limits<int>::max()) const;
  /// Leaves out spare columns until the others fit. Returns the sentence that names them, or "".
  /// `part`: the name of one table among several, else "".
  std::string leave_out(const std::string& to_see_all, const std::string& part = "");
};

/// Text that is safe on a terminal: control characters, characters that change the writing
/// direction, and invalid UTF-8 become U+FFFD; line breaks and tabs become spaces.
std::string visible(const std::string& text);
/// The same for Markdown: special characters are escaped.
std::string escape_markdown(const std::string& text);

/// The width, in characters, that a table and its notes should fit. `assay` sets it to the width of
/// the output's terminal.
inline std::size_t table_width = 120;
/// True if a note that does not fit is broken into several lines: on a terminal; a script reads the
/// whole note.
inline bool wraps_notes = false;
/// The text with line breaks in place of blanks, so that no line is longer than `width` (longer
/// words stay whole). Lines after the first are indented by two.
std::string wrap(const std::string& text, std::size_t width);

/// The text, or, if it is longer than `width` columns, its beginning and "…".
std::string shorten(const std::string& text, std::size_t width);

/// Applies visible() to titles, cells and notes. On a terminal the table fits its width: titles and
/// long texts are broken at blanks, and spare columns are left out and named below.
std::string render_terminal_table(const Table& table);
/// A note is put into the first missing cell. All text is escaped.
std::string render_markdown_table(const Table& table);
/// RFC 4180. Text that a spreadsheet would evaluate as a formula gets a leading quote.
std::string render_csv_table(const Table& table);
/// {columns: [{title, right}], lines: [{cells, numbers, note}]}; a number is null where its cell
/// shows none.
nlohmann::json render_json_table(const Table& table);

/// "1 node", "2 nodes". `plural`: the suffix for numbers other than 1.
std::string format_count(std::size_t count, const std::string& what,
                         const std::string& plural = "s");
/// The singular or the plural form of a word: by_count(n, "is", "are").
inline const char* by_count(std::size_t count, const char* singular, const char* plural) {
  return count == 1 ? singular : plural;
}

/// Columns on a terminal: the number of code points (Assay writes no combining or wide characters).
std::size_t count_columns(const std::string& text);

/// Text for LaTeX with its special characters escaped, after visible().
std::string escape_latex(const std::string& text);

/// A tabular. If all units of a column are of one kind, its head names the most frequent unit, and
/// the cells have their numbers in it, with the printed digits. Decimal points are aligned; a mark
/// after a number takes no width. A note spans the remaining columns.
std::string render_latex_table(const Table& table);

}  // namespace assay
