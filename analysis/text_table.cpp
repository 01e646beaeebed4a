#include "analysis/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "analysis/series.hpp"
#include "core/base/message.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

std::size_t count_columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string format_count(std::size_t count, const std::string& what, const std::string& plural) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

namespace {

bool is_hidden(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C ||
         (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

std::string quote_csv(const std::string& text) {
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

/// "file 'sheet'!... (12 places; the result file names each)" for citations that differ in the
/// middle.
std::string common(const std::set<std::string>& cited) {
  // The texts are sorted, so a common beginning of the first and the last is common to all.
  const std::string &first = *cited.begin(), &last = *cited.rbegin();
  if (cited.size() == 1) return first;
  const auto [end, other] = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
  if (end == first.begin()) return join(std::vector(cited.begin(), cited.end()), "; ");
  return fmt::format("{}... ({} places; the result file names each)",
                     std::string(first.begin(), end), cited.size());
}

}  // namespace

void Legend::add(const std::string& line) {
  if (!line.empty() && seen_.insert(line).second) lines_.push_back(line);
}

void Legend::cite(const std::string& system, const std::string& citation) {
  citations_[system].insert(citation);
}

void Legend::note(const std::string& system, const std::string& note, bool algorithm_shown) {
  std::vector<std::string> rest;
  for (const std::string& part : split(note, ';')) {
    const std::string text = part.substr(std::min(part.find_first_not_of(' '), part.size()));
    if (!text.empty() && !text.starts_with("published") && !text.starts_with("not given there") &&
        !(algorithm_shown && text.starts_with("another algorithm")))
      rest.push_back(text);
  }
  if (!rest.empty()) add(fmt::format("{}: {}", system, join(rest, "; ")));
}

std::string Legend::footnote(const std::string& reason) {
  auto place = std::find(footnotes_.begin(), footnotes_.end(), reason);
  if (place == footnotes_.end()) place = footnotes_.insert(footnotes_.end(), reason);
  return fmt::format("[{}]", place - footnotes_.begin() + 1);
}

void Legend::merge(const Legend& other) {
  for (const std::string& line : other.lines_) add(line);
  for (const auto& [system, cited] : other.citations_)
    citations_[system].insert(cited.begin(), cited.end());
}

std::vector<std::string> Legend::lines() const {
  // One document often covers several systems.
  std::vector<std::pair<std::string, std::string>> sources;  // systems, citation
  for (const auto& [system, cited] : citations_) {
    const std::string source = common(cited);
    const auto known = std::find_if(sources.begin(), sources.end(),
                                    [&](const auto& other) { return other.second == source; });
    if (known == sources.end())
      sources.emplace_back(system, source);
    else
      known->first += ", " + system;
  }
  std::vector<std::string> all;
  for (const auto& [systems, source] : sources)
    all.push_back(fmt::format("* {}: published, not measured by Assay, without interval: {}",
                              systems, source));
  all.insert(all.end(), lines_.begin(), lines_.end());
  for (std::size_t i = 0; i < footnotes_.size(); ++i)
    all.push_back(fmt::format("[{}] {}", i + 1, footnotes_[i]));
  return all;
}

std::string visible(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    char32_t point = 0;
    const std::size_t length = utf8_length(std::string_view(text).substr(at), point);
    if (length == 1 && (point == '\n' || point == '\t' || point == '\r'))
      safe += ' ';
    else if (length == 0 || is_hidden(point))
      safe += "\uFFFD";
    else
      safe += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return safe;
}

std::string escape_markdown(const std::string& text) {
  std::string safe;
  for (const char c : visible(text)) {
    if (std::string_view("|<>&*_`[]~$\\").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string wrap(const std::string& text, std::size_t width) {
  std::string lines, line;
  const auto end_line = [&] {
    lines += (lines.empty() ? "" : "\n  ") + line;
    line.clear();
  };
  for (const std::string& word : split(text, ' ')) {
    const std::size_t indent = lines.empty() ? 0 : 2;
    if (!line.empty() && indent + count_columns(line) + 1 + count_columns(word) > width) end_line();
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) end_line();
  return lines;
}

std::string shorten(const std::string& text, std::size_t width) {
  if (count_columns(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++shown == width) break;
  return text.substr(0, end) + "…";
}

std::string digits(const std::optional<double>& number) {
  return number ? nlohmann::json(*number).dump() : "";
}

std::vector<Column> make_columns(const std::vector<std::string>& titles) {
  std::vector<Column> columns;
  for (const std::string& title : titles) {
    const bool right = title.starts_with('>');
    const bool spare = title.size() > 2 && title[title.size() - 2] == '|';
    columns.push_back({title.substr(0, title.size() - (spare ? 2 : 0)).substr(right ? 1 : 0), right,
                       "", spare ? title.back() - '0' : 0});
  }
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

std::size_t Table::find(const std::string& name) const {
  const auto has_name = [&](const Column& column) {
    return (column.key.empty() ? column.title : column.key) == name;
  };
  return static_cast<std::size_t>(std::ranges::find_if(columns, has_name) - columns.begin());
}

std::vector<std::string> Table::take_headings(std::size_t column) {
  if (column >= columns.size()) return {};
  Table rest = *this;
  std::vector<std::string> headings = rest.take(column);
  std::string above;
  for (std::string& text : headings)
    if (&text != headings.data() && text == above)
      text.clear();
    else
      above = text;
  const auto kept = std::ranges::count(headings, "");
  if (2 * kept < std::ssize(headings) || headings.empty()) return {};
  headings.resize(lines.size());
  *this = std::move(rest);
  return headings;
}

void Table::add_headings(const std::vector<std::string>& headings) {
  std::vector<Line> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < headings.size() && !headings[i].empty()) all.push_back({{}, headings[i]});
    all.push_back(std::move(lines[i]));
  }
  lines = std::move(all);
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(count_columns(column.title));
  for (const Line& line : lines)
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], count_columns(line.cells[i]));
  return widths;
}

bool Table::fits(int spare) const {
  const std::vector<std::size_t> own = widths();
  std::size_t all = 0;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (columns[i].spare < spare) all += own[i] + 2;
  return all <= table_width + 2;
}

std::string Table::leave_out(const std::string& to_see_all, const std::string& part) {
  std::vector<std::string> names;
  while (!fits()) {
    const auto first = std::ranges::max_element(columns, {}, &Column::spare);
    if (first->spare == 0) break;
    names.push_back(first->key.empty() ? first->title : first->key);
    take(static_cast<std::size_t>(first - columns.begin()));
  }
  if (names.empty()) return "";
  return fmt::format("Not shown{}, to {}: {} ({}).", part.empty() ? "" : " of " + part,
                     fits() ? fmt::format("fit {} characters", table_width) : "be less wide",
                     join(names, ", "), to_see_all);
}

std::string render_markdown_table(const Table& table) {
  std::string text = "|";
  for (const Column& column : table.columns)
    text += fmt::format(" {} |", escape_markdown(column.title));
  text += "\n|";
  for (const Column& column : table.columns) text += column.right ? "---:|" : "---|";
  text += "\n";
  for (const Line& line : table.lines) {
    text += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      std::string cell = i < line.cells.size() ? line.cells[i] : "";
      if (i == line.cells.size()) cell = line.note;
      text += fmt::format(" {} |", escape_markdown(cell));
    }
    text += "\n";
  }
  return text;
}

std::string render_csv_table(const Table& table) {
  std::string text;
  const auto add = [&](auto cell) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      text += (i > 0 ? "," : "") + quote_csv(cell(i));
    text += "\r\n";
  };
  add([&](std::size_t i) { return table.columns[i].title; });
  for (const Line& line : table.lines)
    add([&](std::size_t i) { return i < line.cells.size() ? line.cells[i] : ""; });
  return text;
}

nlohmann::json render_json_table(const Table& table) {
  nlohmann::json columns = nlohmann::json::array(), lines = nlohmann::json::array();
  for (const Column& column : table.columns)
    columns.push_back({{"title", column.title}, {"right", column.right}});
  for (const Line& line : table.lines) {
    nlohmann::json numbers = nlohmann::json::array();
    for (const std::optional<double>& number : line.numbers)
      numbers.push_back(number_or_null(number));
    lines.push_back({{"cells", line.cells}, {"numbers", numbers}, {"note", line.note}});
  }
  return {{"columns", columns}, {"lines", lines}};
}

}  // namespace assay
