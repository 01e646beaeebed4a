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

std::string terminal_table(const std::vector<Column>& columns, const std::vector<Line>& lines);
/// Notes go into the cell of the first missing column.
std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines);

/// Characters that a terminal shows (code points; our own text holds no combining or wide ones).
std::size_t shown_width(const std::string& text);

}  // namespace assay
