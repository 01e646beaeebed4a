#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

std::string pad(const std::string& text, std::size_t width, bool right) {
  const std::size_t shown = count_columns(text);
  const std::string space(width > shown ? width - shown : 0, ' ');
  return right ? space + text : text + space;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& word : split(text, ' ')) longest = std::max(longest, count_columns(word));
  return longest;
}

/// Breaks a text into lines that are at most this wide, unless a single word is wider.
std::vector<std::string> broken(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' '))
    if (!lines.empty() && count_columns(lines.back()) + 1 + count_columns(word) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  return lines;
}

/// A row followed by its note. The note gets separate lines if the table is too wide for it.
std::string with_note(const std::string& row, const std::string& note) {
  std::size_t before = count_columns(row);
  if (!wraps_notes || note.empty() || before + count_columns(note) <= table_width)
    return trimmed(row + note);
  const bool beside = before + longest_word(note) + 2 <= table_width;
  if (!beside) before = 2;
  std::string lines = beside ? row : trimmed(row) + "\n  ";
  for (const char c : wrap(note, table_width - before))
    lines += c == '\n' ? "\n" + std::string(before, ' ') : std::string(1, c);
  return lines;
}

Table all_visible(Table table) {
  for (Column& column : table.columns) column.title = visible(column.title);
  for (Line& line : table.lines) {
    for (std::string& cell : line.cells) cell = visible(cell);
    line.note = visible(line.note);
  }
  return table;
}

/// Breaks the texts of the widest column at blanks, if that makes the table fit.
void break_cells(Table& table) {
  if (table.fits() || table.columns.empty()) return;
  const std::vector<std::size_t> widths = table.widths();
  const auto widest = std::ranges::max_element(widths);
  const std::size_t all = std::accumulate(widths.begin(), widths.end(), 2 * widths.size()),
                    room = *widest + table_width + 2 - std::min(all, *widest + table_width + 2);
  const auto place = static_cast<std::size_t>(widest - widths.begin());
  if (table.columns[place].whole) return;
  std::vector<Line> lines;
  for (Line line : table.lines) {
    const std::string text = place < line.cells.size() ? line.cells[place] : "";
    if (longest_word(text) > room) return;
    std::vector<std::string> parts = broken(text, room);
    if (!text.empty()) line.cells[place] = parts.front();
    lines.push_back(std::move(line));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      lines.emplace_back().cells.resize(place);
      lines.back().cells.push_back(std::move(parts[i]));
    }
  }
  table.lines = std::move(lines);
}

/// Makes a table fit the width of a terminal: breaks titles, leaves out spare columns, breaks long
/// texts, and puts texts of the first column above the others. Returns the sentence that names the
/// omitted columns, or "". The keys of the columns are then the whole titles.
std::string fit(Table& table) {
  for (Column& column : table.columns) column.key = column.title;
  if (!wraps_notes || table.fits()) return "";
  for (Column& column : table.columns) column.title = std::string(longest_word(column.title), '-');
  std::string left_out = table.leave_out("a wider terminal shows them");
  break_cells(table);
  const auto has_cells = [&](const Line& line) {
    return !line.cells.empty() && table.columns.size() > 1;
  };
  if (Table headed = table; !table.fits() && std::ranges::all_of(table.lines, has_cells)) {
    headed.add_headings(headed.take(0));
    if (headed.fits()) table = std::move(headed);
  }
  return left_out;
}

}  // namespace

std::string render_terminal_table(const Table& raw) {
  Table table = all_visible(raw);
  const std::string left_out = fit(table);
  const std::vector<Column>& columns = table.columns;
  const std::vector<std::size_t> widths = table.widths();
  std::vector<std::vector<std::string>> heads;
  std::size_t height = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    heads.push_back(broken(columns[i].key, widths[i]));
    height = std::max(height, heads.back().size());
  }
  std::string rule, text;
  for (std::size_t row = 0; row < height; ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t above = height - heads[i].size();  // the last lines are above the rule
      line += pad(row < above ? "" : heads[i][row - above], widths[i], columns[i].right) + "  ";
    }
    text += trimmed(line) + "\n";
  }
  for (const std::size_t width : widths) rule += std::string(width, '-') + "  ";
  text += trimmed(rule) + "\n";
  for (const Line& line : table.lines) {
    std::string row;
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      row += pad(line.cells[i], widths[i], columns[i].right) + "  ";
    text += with_note(row, line.note) + "\n";
  }
  return left_out.empty() ? text : text + wrap(left_out, table_width) + "\n";
}

}  // namespace assay
