#include <fmt/format.h>

#include <algorithm>

#include "analysis/accept/acceptance.hpp"
#include "analysis/accept/checks.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
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
           node["reason"].is_null() ? "" : node["reason"].get<std::string>()}};
}

class Renderer {
 public:
  Renderer(const json& document, bool markdown) : document_(document), page_(markdown) {}

  std::string text() {
    verdict();
    nodes();
    stragglers();
    details();
    marked(shared_mark, "other work used the processors");
    marked(throttled_mark, "power or heat held the clock of the device down");
    unknown();
    fleet();
    page_.blank();
    page_.line(fmt::format(
        "{}; for a node the median of its rows. NOT-QUIET: other work ran on the node; measure it "
        "again when nothing else runs.",
        speedup_header("node", "the median of the other nodes")));
    return page_.text();
  }

 private:
  /// The summary, which comes first.
  void verdict() {
    const json& count = document_["summary"];
    const auto of = [&](const char* key) { return count[key].get<int>(); };
    const std::size_t unmet = document_["unmet"].size();
    page_.statement(fmt::format(
        "{}: {} by {}: {} PASS, {} PERF-FAIL, {} INCORRECT, {} MISSING, {} NOT-QUIET{}.",
        document_["verdict"].get<std::string>(), counted(count["nodes"], "node"),
        document_["criteria"]["name"].get<std::string>(), of("pass"), of("perf_fail"),
        of("incorrect"), of("missing"), of("not_quiet"),
        unmet == 0   ? ""
        : unmet == 1 ? "; 1 criterion of the fleet is not met"
                     : fmt::format("; {} criteria of the fleet are not met", unmet)));
    const auto sentence = [&](const json& text) {
      if (!text.is_string()) return;
      page_.gap();
      page_.statement(text);
    };
    sentence(document_["reason"]);
    if (document_["not_compared"] != document_["reason"]) sentence(document_["not_compared"]);
    page_.blank();
  }

  void nodes() {
    Table table{titled({"node", "verdict", ">" + over("node", "fleet"), ">rows passed", "reason"})};
    for (const char* verdict : {"INCORRECT", "MISSING", "PERF-FAIL", "NOT-QUIET", "PASS"})
      for (const json& node : document_["nodes"])
        if (node["verdict"] == verdict) table.lines.push_back(line_of(node));
    if (!page_.markdown()) shorten_reasons(table);
    page_.table(table);
  }

  /// So that the table fits a terminal: the list of each node's findings has the whole reasons.
  static void shorten_reasons(Table& table) {
    std::size_t before = 0;
    for (const std::size_t width : table.widths()) before += width + 2;
    before -= table.widths().back() + 2;
    const std::size_t left = table_width - std::min(before, table_width - least_reason);
    for (Line& line : table.lines) line.cells.back() = shortened(visible(line.cells.back()), left);
  }

  const json& rows_of(const json& name) const {
    const json& nodes = document_["nodes"];
    return (*std::find_if(nodes.begin(), nodes.end(),
                          [&](const json& node) { return node["node"] == name; }))["rows"];
  }

  void stragglers() {
    Table table{titled({">#", "node", ">" + over("node", "fleet"), ">deviation"})};
    for (const json& straggler : document_["stragglers"])
      if (table.lines.size() < shown_stragglers)
        table.lines.push_back({{std::to_string(straggler["rank"].get<int>()), straggler["node"],
                                speedup_text(straggler["speedup"], rows_of(straggler["node"])),
                                number(straggler["deviation"], "{:+.1f}")}});
    if (table.lines.empty()) return;
    page_.heading("Slowest nodes");
    page_.table(table);
    page_.item(
        "deviation: from the median of the other nodes, in units of their spread (1.4826 MAD)");
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
      if (left > 0) items.push_back(fmt::format("and {} more (--format json shows all)", left));
      page_.list(fmt::format("{} ({})", node["node"].get<std::string>(),
                             node["verdict"].get<std::string>()),
                 items);
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
    page_.list(
        fmt::format("{} ({}): {} while they were timed",
                    std::string_view(mark) == shared_mark ? "Disturbed rows" : "Throttled rows",
                    mark, why),
        items);
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
    std::vector<std::string> items;
    for (const auto& [criterion, count] : counts)
      items.push_back(fmt::format("{}: {} of {}", criterion, count,
                                  counted(document_["nodes"].size(), "node")));
    page_.list(
        "Not judged: the node does not report the quantity, and the criteria do not require it",
        items);
  }

  void fleet() {
    const auto list = [&](const char* heading, const char* key, const char* of) {
      std::vector<std::string> items;
      for (const json& entry : document_[key])
        items.push_back(entry.is_string() ? entry.get<std::string>()
                                          : fmt::format("{}: {}", entry[of].get<std::string>(),
                                                        entry["reason"].get<std::string>()));
      page_.list(heading, items);
    };
    list("Criteria that are not met", "unmet", "criterion");
    list("Optional criteria that apply to nothing", "optional_unmatched", "criterion");
    list("Nodes that the criteria do not name (not judged)", "unexpected", "");
    list("Rows that are not judged", "not_judged", "id");
  }

  const json& document_;
  Page page_;
};

}  // namespace

std::string render_acceptance(const json& document, bool markdown) {
  return Renderer(document, markdown).text();
}

}  // namespace assay
