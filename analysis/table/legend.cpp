#include "analysis/table/legend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/text_table.hpp"
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

std::string Legend::text(bool markdown) const {
  std::string text;
  auto put = [&](const std::string& line) {
    text += fmt::format("{}{}\n", markdown ? "- " : "", table_line(line, markdown));
  };
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
  for (const auto& [systems, source] : sources)
    put(fmt::format("* {}: published, not measured by Assay, without interval: {}", systems,
                    source));
  for (const std::string& line : lines_) put(line);
  for (std::size_t i = 0; i < footnotes_.size(); ++i)
    put(fmt::format("[{}] {}", i + 1, footnotes_[i]));
  return text;
}

void explain_projection(const std::string& system, const nlohmann::json& row, Legend& legend) {
  if (row.contains("projection"))
    legend.add(fmt::format("\u2021 {}: a projection, not a measurement: {}.", system,
                           text_of(row, "projection")));
}

void explain_projected(const std::string& system, const nlohmann::json& match, Legend& legend) {
  if (match.contains("projection"))
    legend.add(fmt::format("\u2021 {}: a projection, not a measurement.", system));
}

void explain_not_given(const std::string& system, const nlohmann::json& match, Legend& legend) {
  if (!match.contains("not_given")) return;
  const std::string remark = text_of(match, "remark");
  legend.add(
      fmt::format("? {}: its source does not give {}; the ratio holds if they were the same.{}",
                  system, join(match["not_given"].get<std::vector<std::string>>(), ", "),
                  remark.empty() ? "" : fmt::format(" {}: {}.", system, remark)));
}

std::string table_line(const std::string& text, bool markdown) {
  return markdown ? markdown_text(text) : wrapped(visible(text), table_width);
}

std::string table_title(const std::vector<NamedResult>& results,
                        const std::vector<std::string>& constants, bool markdown) {
  std::string text;
  for (const NamedResult& named : results) {
    const nlohmann::json& run = named.result.at("run");
    const std::string suite = text_of(run, "suite"), started = text_of(run, "started");
    text += table_line(fmt::format("{}system {}{}{}", named.name.empty() ? "" : named.name + ": ",
                                   text_of(named.result.at("system"), "name"),
                                   suite.empty() ? "" : ", suite " + suite,
                                   started.empty() ? "" : ", " + started),
                       markdown) +
            (markdown ? "  \n" : "\n");
  }
  for (const std::string& line : constants)
    text += table_line(line, markdown) + (markdown && line != constants.back() ? "  \n" : "\n");
  return text + "\n";
}

}  // namespace assay
