#include "analysis/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/series.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// "file 'sheet'!... (12 places, the result file names each)" of citations that differ in the
/// middle.
std::string common(const std::set<std::string>& cited) {
  // Sorted: what the first and the last have in common at the start, all have.
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
  // One document often has several systems.
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

std::string csv_of(const std::vector<std::string>& fields,
                   const std::vector<nlohmann::json>& records) {
  Table table{titled(fields)};
  for (const nlohmann::json& record : records) {
    std::vector<std::string>& cells = table.lines.emplace_back().cells;
    for (const std::string& field : fields) cells.push_back(text_of(record, field));
  }
  return csv_table(table.columns, table.lines);
}

void Page::line(const std::string& text, bool more) {
  if (latex_) return add(safe(text) + (more ? " \\\\\n" : "\n"));
  add(markdown_ ? markdown_text(text) + (more ? "  \n" : "\n")
                : wrapped(visible(text), table_width) + "\n");
}

void Page::heading(const std::string& text) {
  if (latex_) return add("\n\\paragraph{" + safe(text) + "}\n");
  add((markdown_ ? "\n### " : "\n") + safe(text) + "\n");
  gap();
}

void Page::item(const std::string& text) {
  if (markdown_ || latex_) return add((markdown_ ? "- " : "\n") + safe(text) + "\n");
  for (const std::string& line : split(wrapped(safe(text), table_width - 2), '\n'))
    add("  " + line + "\n");
}

void Page::list(const std::string& heading, const std::vector<std::string>& items) {
  if (items.empty()) return;
  this->heading(heading);
  for (const std::string& text : items) item(text);
}

void Page::table(const Table& table) {
  add(latex_      ? latex_table(table)
      : markdown_ ? markdown_table(table.columns, table.lines)
                  : terminal_table(table.columns, table.lines));
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
