#include "analysis/page.hpp"

#include "analysis/series.hpp"
#include "core/base/text.hpp"

namespace assay {

std::string make_csv(const RecordList& list) {
  Table table;
  for (const std::string& field : list.fields) table.columns.push_back({field});
  for (const nlohmann::json& record : list.records) {
    std::vector<std::string>& cells = table.lines.emplace_back().cells;
    for (const std::string& field : list.fields) cells.push_back(read_field(record, field));
  }
  return render_csv_table(table);
}

void Page::line(const std::string& text, bool more) {
  if (latex_) return add(safe(text) + (more ? " \\\\\n" : "\n"));
  add(markdown_ ? escape_markdown(text) + (more ? "  \n" : "\n")
                : wrap(visible(text), table_width) + "\n");
}

void Page::title(const std::string& text) {
  add((text_.empty() ? "" : "\n") + std::string(markdown_ ? "## " : ""));
  statement(text);
  gap();
}

void Page::heading(const std::string& text) {
  if (latex_) return add("\n\\paragraph{" + safe(text) + "}\n");
  add((markdown_ ? "\n### " : "\n") + safe(text) + "\n");
  gap();
}

void Page::item(const std::string& text) {
  if (markdown_ || latex_) return add((markdown_ ? "- " : "\n") + safe(text) + "\n");
  for (const std::string& line : split(wrap(safe(text), table_width - 2), '\n'))
    add("  " + line + "\n");
}

void Page::list(const std::string& heading, const std::vector<std::string>& items) {
  if (items.empty()) return;
  this->heading(heading);
  for (const std::string& text : items) item(text);
}

void Page::table(const Table& table) {
  add(latex_      ? render_latex_table(table)
      : markdown_ ? render_markdown_table(table)
                  : render_terminal_table(table));
}

void Page::part(const Table& table) {
  if (table.lines.empty()) return;
  if (!text_.empty()) blank();
  this->table(table);
}

void Page::note(const std::string& text) {
  if (latex_) return add("\n{\\footnotesize " + safe(text) + "\\par}\n");
  if (markdown_) add("- ");
  line(text);
}

void Page::notes(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) note(text);
}

}  // namespace assay
