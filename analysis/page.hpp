#pragma once
// The text output of a command: lines, headings, lists, tables, and the notes that explain them, on
// a terminal, as Markdown or as LaTeX. Any of it may come from files that others wrote.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/text_table.hpp"

namespace assay {

/// Records that a command writes for other programs, as JSON or, only these fields, as CSV.
struct RecordList {
  std::vector<std::string> fields;
  std::vector<nlohmann::json> records;
};

/// CSV with all digits; a field that is missing or null is empty.
std::string make_csv(const RecordList& list);

class Page {
 public:
  explicit Page(bool markdown, bool latex = false) : markdown_(markdown && !latex), latex_(latex) {
    if (latex) add("% \\usepackage{booktabs}\n");
  }
  bool markdown() const { return markdown_; }
  bool latex() const { return latex_; }
  const std::string& text() const { return text_; }

  /// Text that is already safe, and has its line breaks.
  void add(const std::string& text) { text_ += text; }
  void blank() { add("\n"); }
  /// A blank line if Markdown or LaTeX needs one to end a paragraph.
  void gap() { add(markdown_ || latex_ ? "\n" : ""); }
  /// A line of a paragraph, which ends there unless there is `more`. On a terminal, lines are
  /// table_width wide.
  void line(const std::string& text, bool more = false);
  /// A line that is never broken.
  void statement(const std::string& text) { add(safe(text) + "\n"); }
  /// The same for text to the reader of the output: a comment in LaTeX.
  void remark(const std::string& text) { add((latex_ ? "% " + visible(text) : safe(text)) + "\n"); }
  /// The title of one of several parts.
  void title(const std::string& text);
  /// A heading below a blank line.
  void heading(const std::string& text);
  /// An entry below a heading.
  void item(const std::string& text);
  /// A heading and its entries; nothing without entries.
  void list(const std::string& heading, const std::vector<std::string>& items);
  void table(const Table& table);
  /// A table, and below a blank line its notes.
  void table(const Table& table, const std::vector<std::string>& notes) {
    this->table(table);
    blank();
    this->notes(notes);
  }
  /// A table below a blank line, unless the page begins with the table; nothing without lines.
  void part(const Table& table);
  void note(const std::string& text);
  void notes(const std::vector<std::string>& texts);

 private:
  std::string safe(const std::string& text) const {
    return latex_ ? escape_latex(text) : markdown_ ? escape_markdown(text) : visible(text);
  }

  bool markdown_, latex_;
  std::string text_;
};

}  // namespace assay
