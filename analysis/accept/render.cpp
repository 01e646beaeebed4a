#include <fmt/format.h>

#include <algorithm>

#include "analysis/accept/acceptance.hpp"
#include "analysis/accept/checks.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/result/marks.hpp"

namespace assay {

using nlohmann::json;

namespace {

constexpr std::size_t shown_stragglers = 5, shown_rows = 5;
constexpr std::size_t least_reason = 40;  ///< columns of a reason in the table, at least

std::string number(const json& value, const char* form) {
  return value.is_null() ? "-" : fmt::format(fmt::runtime(form), value.get<double>());
}

/// The mark of a row: as of accept's document, where "shared" is called "disturbed".
std::string mark_of_row(const json& row) {
  if (row["disturbed"] == true) return shared_mark;
  return row.value("throttled", false) ? throttled_mark : "";
}

/// The mark of a number that was made of marked rows.
std::string mark_of_rows(const json& rows) {
  std::string mark;
  for (const json& row : rows) mark = worse_mark(mark, mark_of_row(row));
  return mark;
}

/// A node's speedup over the others.
std::string speedup_text(const json& speedup, const json& rows) {
  return number(speedup, "{:.3f}") + (speedup.is_null() ? "" : mark_of_rows(rows));
}

Line line_of(const json& node) {
  const json& rows = node["rows"];
  const auto passed = std::count_if(rows.begin(), rows.end(),
                                    [](const json& row) { return row["verdict"] == "PASS"; });
  return {{node["node"], node["verdict"], speedup_text(node["speedup"], rows),
           fmt::format("{} of {}", passed, rows.size() + node["rows_missing"].get<std::size_t>()),
           node["reason"].is_null() ? "" : node["reason"].get<std::string>()},
          ""};
}

class Renderer {
 public:
  Renderer(const json& document, bool markdown) : document_(document), markdown_(markdown) {}

  std::string text() {
    verdict();
    nodes();
    stragglers();
    details();
    marked(shared_mark, "other work used the processors");
    marked(throttled_mark, "power or heat held the clock of the device down");
    unknown();
    fleet();
    const std::string marks = fmt::format(
        "{}; for a node the median of its rows. NOT-QUIET: other work ran on the node; measure it "
        "again when nothing else runs.",
        speedup_header("node", "the median of the other nodes"));
    return out_ + "\n" + (markdown_ ? marks : wrapped(marks, table_width)) + "\n";
  }

 private:
  std::string safe(const std::string& raw) const {
    return markdown_ ? markdown_text(raw) : visible(raw);
  }
  void table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
    out_ += markdown_ ? markdown_table(columns, lines) : terminal_table(columns, lines);
  }
  void title(const std::string& text) {
    out_ += fmt::format("\n{}{}\n{}", markdown_ ? "### " : "", text, markdown_ ? "\n" : "");
  }
  void item(const std::string& text) {
    out_ += fmt::format("{}{}\n", markdown_ ? "- " : "  ", safe(text));
  }

  /// The summary, which comes first.
  void verdict() {
    const json& count = document_["summary"];
    const auto of = [&](const char* key) { return count[key].get<int>(); };
    const std::size_t unmet = document_["unmet"].size();
    out_ += fmt::format(
        "{}: {} by {}: {} PASS, {} PERF-FAIL, {} INCORRECT, {} MISSING, {} NOT-QUIET{}.\n",
        document_["verdict"].get<std::string>(), counted(count["nodes"], "node"),
        safe(document_["criteria"]["name"]), of("pass"), of("perf_fail"), of("incorrect"),
        of("missing"), of("not_quiet"),
        unmet == 0   ? ""
        : unmet == 1 ? "; 1 criterion of the fleet is not met"
                     : fmt::format("; {} criteria of the fleet are not met", unmet));
    const auto sentence = [&](const json& text) {
      if (text.is_string()) out_ += (markdown_ ? "\n" : "") + safe(text) + "\n";
    };
    sentence(document_["reason"]);
    if (document_["not_compared"] != document_["reason"]) sentence(document_["not_compared"]);
    out_ += "\n";
  }

  void nodes() {
    std::vector<Line> lines;
    for (const char* verdict : {"INCORRECT", "MISSING", "PERF-FAIL", "NOT-QUIET", "PASS"})
      for (const json& node : document_["nodes"])
        if (node["verdict"] == verdict) lines.push_back(line_of(node));
    const std::vector<Column> columns{
        {"node"}, {"verdict"}, {over("node", "fleet"), true}, {"rows passed", true}, {"reason"}};
    if (!markdown_) shorten_reasons(columns, lines);
    table(columns, lines);
  }

  /// So that the table fits a terminal: the list of each node's findings has the whole reasons.
  static void shorten_reasons(const std::vector<Column>& columns, std::vector<Line>& lines) {
    std::size_t before = 0;
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
      std::size_t width = shown_width(columns[i].title);
      for (const Line& line : lines) width = std::max(width, shown_width(line.cells[i]));
      before += width + 2;
    }
    const std::size_t left = table_width - std::min(before, table_width - least_reason);
    for (Line& line : lines) line.cells.back() = shortened(visible(line.cells.back()), left);
  }

  const json& rows_of(const json& name) const {
    const json& nodes = document_["nodes"];
    return (*std::find_if(nodes.begin(), nodes.end(),
                          [&](const json& node) { return node["node"] == name; }))["rows"];
  }

  void stragglers() {
    std::vector<Line> lines;
    for (const json& straggler : document_["stragglers"])
      if (lines.size() < shown_stragglers)
        lines.push_back({{std::to_string(straggler["rank"].get<int>()), straggler["node"],
                          speedup_text(straggler["speedup"], rows_of(straggler["node"])),
                          number(straggler["deviation"], "{:+.1f}")},
                         ""});
    if (lines.empty()) return;
    title("Slowest nodes");
    table({{"#", true}, {"node"}, {over("node", "fleet"), true}, {"deviation", true}}, lines);
    item("deviation: from the median of the other nodes, in units of their spread (1.4826 MAD)");
  }

  void details() {
    for (const json& node : document_["nodes"]) {
      if (node["verdict"] == "PASS" || node["reason"] == no_result) continue;
      std::vector<std::string> items;
      std::size_t left = 0;
      const auto take = [&](const json& finding, const std::string& what) {
        if (finding["verdict"] == "PASS" || finding["verdict"] == "unknown") return;
        if (finding["reason"] == too_few_nodes) return;  // said above, of all rows
        if (items.size() == shown_rows)
          ++left;
        else
          items.push_back(fmt::format("{} {}: {}", finding["verdict"].get<std::string>(), what,
                                      finding["reason"].get<std::string>()));
      };
      for (const json& finding : node["health"]["findings"]) take(finding, finding["criterion"]);
      for (const json& row : node["rows"]) take(row, row["id"]);
      if (items.empty()) continue;
      title(fmt::format("{} ({})", safe(node["node"]), node["verdict"].get<std::string>()));
      for (const std::string& text : items) item(text);
      if (left > 0) item(fmt::format("and {} more (--format json shows all)", left));
    }
  }

  /// Rows whose times are upper limits, even where they passed.
  void marked(const char* mark, const std::string& why) {
    std::vector<std::string> items;
    for (const json& node : document_["nodes"]) {
      std::size_t count = 0;
      std::string first;
      for (const json& row : node["rows"])
        if (mark_of_row(row) == mark && ++count == 1) first = row["id"];
      if (count > 0)
        items.push_back(fmt::format("{}: {}{}", node["node"].get<std::string>(), first,
                                    count > 1 ? fmt::format(" and {} more", count - 1) : ""));
    }
    if (items.empty()) return;
    title(fmt::format("{} ({}): {} while they were timed",
                      std::string_view(mark) == shared_mark ? "Disturbed rows" : "Throttled rows",
                      mark, why));
    for (const std::string& text : items) item(text);
  }

  /// States that are unknown and not required.
  void unknown() {
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const json& node : document_["nodes"])
      for (const json& finding : node["health"]["findings"]) {
        if (finding["verdict"] != "unknown") continue;
        const std::string criterion = finding["criterion"];
        const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) {
          return entry.first == criterion;
        });
        if (found == counts.end())
          counts.emplace_back(criterion, 1);
        else
          ++found->second;
      }
    if (counts.empty()) return;
    title("Not judged: the node does not report the quantity, and the criteria do not require it");
    for (const auto& [criterion, count] : counts)
      item(fmt::format("{}: {} of {}", criterion, count,
                       counted(document_["nodes"].size(), "node")));
  }

  void fleet() {
    const auto list = [&](const char* heading, const json& all, const auto& words) {
      if (all.empty()) return;
      title(heading);
      for (const json& entry : all) item(words(entry));
    };
    const auto reasoned = [](const char* key) {
      return [key](const json& entry) {
        return fmt::format("{}: {}", entry[key].template get<std::string>(),
                           entry["reason"].template get<std::string>());
      };
    };
    list("Criteria that are not met", document_["unmet"], reasoned("criterion"));
    list("Optional criteria that apply to nothing", document_["optional_unmatched"],
         reasoned("criterion"));
    list("Nodes that the criteria do not name (not judged)", document_["unexpected"],
         [](const json& entry) { return entry.template get<std::string>(); });
    list("Rows that are not judged", document_["not_judged"], reasoned("id"));
  }

  const json& document_;
  bool markdown_;
  std::string out_;
};

}  // namespace

std::string render_acceptance(const json& document, bool markdown) {
  return Renderer(document, markdown).text();
}

}  // namespace assay
