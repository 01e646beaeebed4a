#include "analysis/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/message.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string counted(std::size_t count, const std::string& what, const std::string& plural) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t shown = shown_width(text);
  const std::string space(width > shown ? width - shown : 0, ' ');
  return right ? space + text : text + space;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

bool hidden(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C ||
         (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

/// A note behind `row`. Where the table is too wide for it, it has lines of its own.
std::string with_note(const std::string& row, const std::string& note) {
  std::size_t before = shown_width(row), longest = 0;
  if (!wraps_notes || note.empty() || before + shown_width(note) <= table_width)
    return trimmed(row + note);
  for (const std::string& word : split(note, ' ')) longest = std::max(longest, shown_width(word));
  const bool beside = before + longest + 2 <= table_width;
  if (!beside) before = 2;
  std::string lines = beside ? row : trimmed(row) + "\n  ";
  for (const char c : wrapped(note, table_width - before))
    lines += c == '\n' ? "\n" + std::string(before, ' ') : std::string(1, c);
  return lines;
}

/// The lines of each title. On a terminal for which the table is too wide, a title that is wider
/// than its cells is broken at blanks; `widths` are then those of the narrower columns.
std::vector<std::vector<std::string>> head_lines(const Table& table,
                                                 std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> heads;
  for (const Column& column : table.columns) heads.push_back({column.title});
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width + 2;
  if (!wraps_notes || all <= table_width + 2) return heads;
  Table untitled = table;
  for (Column& column : untitled.columns) column.title.clear();
  widths = untitled.widths();
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const std::vector<std::string> words = split(table.columns[i].title, ' ');
    for (const std::string& word : words) widths[i] = std::max(widths[i], shown_width(word));
    std::vector<std::string> lines;
    for (const std::string& word : words)
      if (!lines.empty() && shown_width(lines.back()) + 1 + shown_width(word) <= widths[i])
        lines.back() += " " + word;
      else
        lines.push_back(word);
    heads[i] = std::move(lines);
  }
  return heads;
}

std::string csv_text(const std::string& text) {
  std::string safe = visible(text);
  // "-3e-5" is a number; "=1+1", "+cmd", "-x" and "@sum" would be evaluated.
  if (!safe.empty() && !parse_number(safe) &&
      std::string("=+-@ ").find(safe[0]) != std::string::npos)
    safe.insert(safe.begin(), '\'');
  if (safe.find_first_of("\",") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Table all_visible(Table table) {
  for (Column& column : table.columns) column.title = visible(column.title);
  for (Line& line : table.lines) {
    for (std::string& cell : line.cells) cell = visible(cell);
    line.note = visible(line.note);
  }
  return table;
}

}  // namespace

std::string visible(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(std::string_view(text).substr(at), point);
    if (length == 1 && (point == '\n' || point == '\t' || point == '\r'))
      safe += ' ';
    else if (length == 0 || hidden(point))
      safe += "\uFFFD";
    else
      safe += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return safe;
}

std::string markdown_text(const std::string& text) {
  std::string safe;
  for (const char c : visible(text)) {
    if (std::string_view("|<>&*_`[]~$\\").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string wrapped(const std::string& text, std::size_t width) {
  std::string lines, line;
  const auto end_line = [&] {
    lines += (lines.empty() ? "" : "\n  ") + line;
    line.clear();
  };
  for (const std::string& word : split(text, ' ')) {
    const std::size_t indent = lines.empty() ? 0 : 2;
    if (!line.empty() && indent + shown_width(line) + 1 + shown_width(word) > width) end_line();
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) end_line();
  return lines;
}

std::string shortened(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++shown == width) break;
  return text.substr(0, end) + "…";
}

std::vector<Column> titled(const std::vector<std::string>& titles) {
  std::vector<Column> columns;
  for (const std::string& title : titles)
    columns.push_back({title.starts_with('>') ? title.substr(1) : title, title.starts_with('>')});
  return columns;
}

void Line::add(Cell cell) {
  numbers.resize(cells.size());
  numbers.push_back(cell.number);
  cells.push_back(std::move(cell.text));
}

std::vector<std::string> Table::take(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  std::vector<std::string> taken;
  columns.erase(columns.begin() + at);
  for (Line& line : lines) {
    if (column >= line.cells.size()) continue;
    taken.push_back(std::move(line.cells[column]));
    line.cells.erase(line.cells.begin() + at);
    if (column < line.numbers.size()) line.numbers.erase(line.numbers.begin() + at);
  }
  return taken;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(shown_width(column.title));
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(line.cells[i]));
  return widths;
}

bool Table::fits() const {
  return std::ranges::all_of(
      split(terminal_table(columns, lines), '\n'),
      [](const std::string& line) { return shown_width(line) <= table_width; });
}

std::string terminal_table(const std::vector<Column>& raw_columns,
                           const std::vector<Line>& raw_lines) {
  const auto [columns, lines] = all_visible({raw_columns, raw_lines});
  std::vector<std::size_t> widths = Table{columns, lines}.widths();
  const std::vector<std::vector<std::string>> heads = head_lines({columns, lines}, widths);
  std::size_t height = 1;
  for (const auto& head : heads) height = std::max(height, head.size());
  std::string rule, text;
  for (std::size_t row = 0; row < height; ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t above = height - heads[i].size();  // the last lines stand on the rule
      line += padded(row < above ? "" : heads[i][row - above], widths[i], columns[i].right) + "  ";
    }
    text += trimmed(line) + "\n";
  }
  for (const std::size_t width : widths) rule += std::string(width, '-') + "  ";
  text += trimmed(rule) + "\n";
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      row += padded(line.cells[i], widths[i], columns[i].right) + "  ";
    text += with_note(row, line.note) + "\n";
  }
  return text;
}

std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::string text = "|";
  for (const Column& column : columns) text += fmt::format(" {} |", markdown_text(column.title));
  text += "\n|";
  for (const Column& column : columns) text += column.right ? "---:|" : "---|";
  text += "\n";
  for (const Line& line : lines) {
    text += "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::string cell = i < line.cells.size() ? line.cells[i] : "";
      if (i == line.cells.size()) cell = line.note;
      text += fmt::format(" {} |", markdown_text(cell));
    }
    text += "\n";
  }
  return text;
}

std::string csv_table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::string text;
  const auto add = [&](auto cell) {
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? "," : "") + csv_text(cell(i));
    text += "\r\n";
  };
  add([&](std::size_t i) { return columns[i].title; });
  for (const Line& line : lines)
    add([&](std::size_t i) { return i < line.cells.size() ? line.cells[i] : ""; });
  return text;
}

}  // namespace assay
