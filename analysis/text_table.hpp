#pragma once
// Columns of text, for a terminal or as Markdown.

#include <string>
#include <vector>

namespace assay {

struct Column {
  std::string title;
  bool right = false;  ///< numbers are set right, so that sizes can be seen
};

/// A line of cells. `note` stands instead of the cells from its place on: a reason where there is
/// no number.
struct Line {
  std::vector<std::string> cells;
  std::string note;
};

/// Text of a file as it may stand on a terminal: a control character, a sign that turns the
/// direction of writing, and a byte that is no UTF-8 become U+FFFD; a line break or a tab a space.
std::string visible(const std::string& text);
/// The same for Markdown: what has a meaning there is escaped.
std::string markdown_text(const std::string& text);

/// Titles, cells and notes are made visible.
std::string terminal_table(const std::vector<Column>& columns, const std::vector<Line>& lines);
/// Notes go into the cell of the first missing column; all text is escaped.
std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines);
/// RFC 4180. What a spreadsheet would take for a formula gets a quote before it, unless it is a
/// number.
std::string csv_table(const std::vector<Column>& columns, const std::vector<Line>& lines);

/// Characters that a terminal shows (code points; our own text holds no combining or wide ones).
std::size_t shown_width(const std::string& text);

}  // namespace assay
