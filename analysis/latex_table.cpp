#include "analysis/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/message.hpp"

namespace assay {

namespace {

using Texts = std::vector<std::string>;

/// The powers of ten of SI prefixes.
constexpr std::array<std::pair<std::string_view, int>, 10> prefixes{{{"n", -9},
                                                                     {"\u00b5", -6},
                                                                     {"m", -3},
                                                                     {"", 0},
                                                                     {"k", 3},
                                                                     {"M", 6},
                                                                     {"G", 9},
                                                                     {"T", 12},
                                                                     {"P", 15},
                                                                     {"E", 18}}};

std::optional<int> find_power(std::string_view prefix) {
  for (const auto& [name, power] : prefixes)
    if (name == prefix) return power;
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number with its unit and its mark, or a range of two: "1.23 ms!", "789 .. 801 ns", "0.98".
struct PrintedNumber {
  Texts numbers{}, units{};  ///< a range has two of each; a unit may be ""
  std::string mark{};
};

/// Takes "-1.23" from the start of a text.
std::string take_number(std::string_view& text) {
  std::size_t end = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t first = end;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == first) return "";
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]))
    for (++end; end < text.size() && is_digit(text[end]);) ++end;
  std::string number(text.substr(0, end));
  text.remove_prefix(end);
  return number;
}

/// Takes the marks of a number from the end of a text.
std::string take_mark(std::string_view& text) {
  constexpr std::array<std::string_view, 7> marks{"!", "\u00b0", "~", "*", "\u2020", "\u2021", "?"};
  std::string taken;
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view mark : marks)
      if (text.ends_with(mark)) {
        taken.insert(0, mark);
        text.remove_suffix(mark.size());
        more = true;
      }
  }
  return taken;
}

std::optional<PrintedNumber> parse_number_text(std::string_view text) {
  PrintedNumber quantity;
  quantity.mark = take_mark(text);
  constexpr std::string_view between = " .. ";
  while (true) {
    const std::string number = take_number(text);
    if (number.empty()) return std::nullopt;
    quantity.numbers.push_back(number);
    std::string unit;
    if (text.starts_with(' ') && !text.starts_with(between)) {
      const std::size_t end = std::min(text.find(' ', 1), text.size());
      unit = text.substr(1, end - 1);
      text.remove_prefix(end);
      if (unit.empty() || is_digit(unit[0])) return std::nullopt;
    }
    quantity.units.push_back(unit);
    if (text.empty()) break;
    if (!text.starts_with(between) || quantity.numbers.size() == 2) return std::nullopt;
    text.remove_prefix(between.size());
  }
  // "1.23 .. 4.56 ms": the unit is that of both.
  if (quantity.units.size() == 2 && quantity.units[0].empty())
    quantity.units[0] = quantity.units[1];
  return quantity;
}

/// A column in which every cell is a quantity or empty.
struct NumberColumn {
  std::vector<std::optional<PrintedNumber>> cells{};
  std::string unit{};        ///< of all numbers after in_one_unit()
  std::size_t decimals = 0;  ///< most digits after a decimal point
};

bool is_empty(const std::string& cell) { return cell.empty() || cell == "-"; }

std::optional<NumberColumn> parse_column(const Table& table, std::size_t column) {
  NumberColumn parsed;
  bool any = false;
  for (const Line& line : table.lines) {
    std::optional<PrintedNumber>& cell = parsed.cells.emplace_back();
    if (column >= line.cells.size() || is_empty(line.cells[column])) continue;
    cell = parse_number_text(line.cells[column]);
    if (!cell) return std::nullopt;
    any = true;
  }
  return any ? std::optional(parsed) : std::nullopt;
}

/// The longest common suffix of all texts.
std::string common_end(const Texts& texts) {
  std::string end = texts.front();
  for (const std::string& text : texts) {
    const auto last = std::mismatch(end.rbegin(), end.rend(), text.rbegin(), text.rend());
    end.erase(end.begin(), last.first.base());
  }
  return end;
}

/// The decimal number times a power of ten, with the same digits: "12.3", -3 → "0.0123".
std::string shift_point(const std::string& number, int power) {
  const bool sign = !is_digit(number[0]);
  std::string digits = number.substr(sign ? 1 : 0);
  std::size_t point = std::min(digits.find('.'), digits.size());
  digits.erase(std::min(point, digits.size()), 1);
  for (; power > 0; --power)
    if (++point > digits.size()) digits += '0';
  for (; power < 0; ++power) {
    if (point == 0)
      digits.insert(0, 1, '0');
    else
      --point;
  }
  if (point == 0) {
    digits.insert(0, 1, '0');
    point = 1;
  }
  // Leading zeros that the shift has added.
  while (point > 1 && digits[0] == '0') {
    digits.erase(0, 1);
    --point;
  }
  if (point < digits.size()) digits.insert(point, 1, '.');
  return (sign ? number.substr(0, 1) : "") + digits;
}

/// Converts all numbers to the most frequent unit; of equally frequent units to the largest. False
/// if the units are of different kinds.
bool in_one_unit(NumberColumn& column) {
  std::map<std::string, std::size_t> counts;
  for (const auto& cell : column.cells)
    if (cell)
      for (const std::string& unit : cell->units) ++counts[unit];
  Texts units;
  for (const auto& [unit, count] : counts) units.push_back(unit);
  const std::string base = common_end(units);
  std::map<std::string, int> powers;
  for (const std::string& unit : units) {
    const auto power = find_power(std::string_view(unit).substr(0, unit.size() - base.size()));
    if (units.size() > 1 && (base.empty() || !power)) return false;
    powers[unit] = power.value_or(0);
  }
  column.unit = *std::ranges::max_element(units, {}, [&](const std::string& unit) {
    return std::pair(counts.at(unit), powers.at(unit));
  });
  for (auto& cell : column.cells) {
    if (!cell) continue;
    for (std::size_t i = 0; i < cell->numbers.size(); ++i) {
      std::string& number = cell->numbers[i];
      number = shift_point(number, powers.at(cell->units[i]) - powers.at(column.unit));
      const std::size_t point = number.find('.');
      if (point != std::string::npos)
        column.decimals = std::max(column.decimals, number.size() - point - 1);
    }
  }
  return true;
}

/// Space for the decimal digits that a number lacks.
std::string room(const std::string& number, std::size_t decimals) {
  const std::size_t point = number.find('.');
  const std::size_t own = point == std::string::npos ? 0 : number.size() - point - 1;
  if (own == decimals) return "";
  return fmt::format("\\phantom{{{}{}}}", own == 0 ? "." : "", std::string(decimals - own, '0'));
}

std::string latex_number(const std::string& number) {
  return number[0] == '-' || number[0] == '+' ? fmt::format("${}$", number) : number;
}

std::string format_latex_cell(const PrintedNumber& quantity, std::size_t decimals) {
  std::string text;
  for (const std::string& number : quantity.numbers)
    text += (text.empty() ? "" : "--") + latex_number(number);
  text += room(quantity.numbers.back(), decimals);
  return quantity.mark.empty() ? text
                               : text + fmt::format("\\rlap{{{}}}", escape_latex(quantity.mark));
}

/// A column as LaTeX: its head and its cells. A cell is empty if its line has none.
struct LatexColumn {
  std::string head{};
  Texts cells{};
};

LatexColumn make_column(const Table& table, std::size_t at) {
  const Column& column = table.columns[at];
  LatexColumn latex{escape_latex(column.title)};
  std::optional<NumberColumn> quantities = column.right ? parse_column(table, at) : std::nullopt;
  if (quantities && !in_one_unit(*quantities)) quantities.reset();
  if (quantities && !quantities->unit.empty())
    latex.head += fmt::format(" ({})", escape_latex(quantities->unit));
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const Texts& cells = table.lines[i].cells;
    if (quantities && quantities->cells[i])
      latex.cells.push_back(format_latex_cell(*quantities->cells[i], quantities->decimals));
    else
      latex.cells.push_back(at < cells.size() ? escape_latex(cells[at]) : "");
  }
  return latex;
}

/// The LaTeX source of a character with a special meaning in LaTeX; "" for others.
std::string_view latex_character(std::string_view character) {
  static const std::map<std::string_view, std::string_view> characters{
      {"%", "\\%"},
      {"_", "\\_"},
      {"&", "\\&"},
      {"#", "\\#"},
      {"$", "\\$"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"^", "\\textasciicircum{}"},
      {"~", "\\textasciitilde{}"},
      {"\\", "\\textbackslash{}"},
      {"<", "\\textless{}"},
      {">", "\\textgreater{}"},
      {"|", "\\textbar{}"},
      {"[", "{[}"},  // never the optional argument of a line break
      {"\u00b5", "$\\mu$"},
      {"\u00b0", "$^\\circ$"},
      {"\u00b1", "$\\pm$"},
      {"\u00b7", "$\\cdot$"},
      {"\u00d7", "$\\times$"},
      {"\u03b1", "$\\alpha$"},
      {"\u03b2", "$\\beta$"},
      {"\u2013", "--"},
      {"\u2014", "---"},
      {"\u2020", "\\dag{}"},
      {"\u2021", "\\ddag{}"},
      {"\u2026", "\\dots{}"},
      {"\u2192", "$\\rightarrow$"},
      {"\u2212", "$-$"},
      {"\u2264", "$\\leq$"},
      {"\u2265", "$\\geq$"}};
  const auto entry = characters.find(character);
  return entry == characters.end() ? std::string_view() : entry->second;
}

}  // namespace

std::string escape_latex(const std::string& text) {
  const std::string safe = visible(text);
  std::string written;
  for (std::size_t at = 0; at < safe.size();) {
    char32_t point = 0;
    const std::size_t length =
        std::max<std::size_t>(1, utf8_length(std::string_view(safe).substr(at), point));
    const std::string_view character = std::string_view(safe).substr(at, length);
    const std::string_view escaped = latex_character(character);
    if (character == "-" && written.ends_with('-')) written += "{}";  // "--" would be a dash
    written += escaped.empty() ? character : escaped;
    at += length;
  }
  return written;
}

std::string render_latex_table(const Table& table) {
  std::string alignment, head;
  std::vector<LatexColumn> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back(make_column(table, i));
    alignment += table.columns[i].right ? 'r' : 'l';
    head += (i > 0 ? " & " : "") + columns.back().head;
  }
  std::string text =
      fmt::format("\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n", alignment, head);
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    const Line& line = table.lines[i];
    const std::size_t own = std::min(line.cells.size(), columns.size());
    Texts cells;
    for (std::size_t column = 0; column < own; ++column) cells.push_back(columns[column].cells[i]);
    if (!line.note.empty() && own < columns.size())
      cells.push_back(fmt::format("\\multicolumn{{{}}}{{l}}{{{}}}", columns.size() - own,
                                  escape_latex(line.note)));
    for (std::size_t column = 0; column < cells.size(); ++column)
      text += (column > 0 ? " & " : "") + cells[column];
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace assay
