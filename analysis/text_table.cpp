#include "analysis/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
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

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_' || c == '`' || c == '\\') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

}  // namespace

std::string terminal_table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(shown_width(column.title));
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], shown_width(line.cells[i]));
  std::string head, rule, text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    head += padded(columns[i].title, widths[i], columns[i].right) + "  ";
    rule += std::string(widths[i], '-') + "  ";
  }
  text = trimmed(head) + "\n" + trimmed(rule) + "\n";
  for (const Line& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      row += padded(line.cells[i], widths[i], columns[i].right) + "  ";
    text += trimmed(row + line.note) + "\n";
  }
  return text;
}

std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::string text = "|";
  for (const Column& column : columns) text += fmt::format(" {} |", escaped(column.title));
  text += "\n|";
  for (const Column& column : columns) text += column.right ? "---:|" : "---|";
  text += "\n";
  for (const Line& line : lines) {
    text += "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::string cell = i < line.cells.size() ? line.cells[i] : "";
      if (i == line.cells.size()) cell = line.note;
      text += fmt::format(" {} |", escaped(cell));
    }
    text += "\n";
  }
  return text;
}

}  // namespace assay
