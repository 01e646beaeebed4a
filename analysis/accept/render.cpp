#include <fmt/format.h>

#include <algorithm>

#include "analysis/accept/acceptance.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

using enum NodeVerdict;

constexpr std::size_t shown_stragglers = 5, shown_rows = 5;
constexpr std::size_t least_reason = 40;  ///< columns of a reason in the table, at least

/// The mark of a row that the document calls disturbed or throttled.
const char* mark_of_row(const JudgedRow& row) {
  return row.disturbed ? shared_mark : row.throttled ? throttled_mark : "";
}

/// A node's speedup over the others, with the mark of its rows.
std::string speedup_text(const JudgedNode& node) {
  if (!node.speedup) return "-";
  std::string mark;
  for (const JudgedRow& row : node.rows) mark = worse_mark(mark, mark_of_row(row));
  return fmt::format("{:.3f}{}", *node.speedup, mark);
}

Line make_line(const JudgedNode& node) {
  const auto passed = std::count_if(node.rows.begin(), node.rows.end(),
                                    [](const JudgedRow& row) { return row.verdict == pass; });
  return {{node.node, verdict_names[node.verdict], speedup_text(node),
           fmt::format("{} of {}", passed, node.rows.size() + node.rows_missing), node.reason}};
}

/// So that the table fits a terminal: the list of each node's findings has the whole reasons.
void shorten_reasons(Table& table) {
  std::size_t before = 0;
  for (const std::size_t width : table.widths()) before += width + 2;
  before -= table.widths().back() + 2;
  const std::size_t left = table_width - std::min(before, table_width - least_reason);
  for (Line& line : table.lines) line.cells.back() = shortened(visible(line.cells.back()), left);
}

class Renderer {
 public:
  Renderer(const Acceptance& acceptance, bool markdown)
      : acceptance_(acceptance), page_(markdown) {}

  std::string text() {
    verdict();
    nodes();
    stragglers();
    details();
    marked("Disturbed rows", shared_mark, "other work used the processors");
    marked("Throttled rows", throttled_mark, "power or heat held the clock of the device down");
    unknown_states();
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
    const Acceptance::Summary& count = acceptance_.summary;
    const std::size_t unmet = acceptance_.unmet.size();
    page_.statement(fmt::format(
        "{}: {} by {}: {} PASS, {} PERF-FAIL, {} INCORRECT, {} MISSING, {} NOT-QUIET{}.",
        verdict_names[acceptance_.verdict], counted(count.nodes, "node"), acceptance_.criteria.name,
        count.pass, count.perf_fail, count.incorrect, count.missing, count.not_quiet,
        unmet == 0   ? ""
        : unmet == 1 ? "; 1 criterion of the fleet is not met"
                     : fmt::format("; {} criteria of the fleet are not met", unmet)));
    const auto sentence = [&](const std::string& text) {
      if (text.empty()) return;
      page_.gap();
      page_.statement(text);
    };
    sentence(acceptance_.reason);
    if (acceptance_.not_compared != acceptance_.reason) sentence(acceptance_.not_compared);
    page_.blank();
  }

  void nodes() {
    Table table{titled({"node", "verdict", ">" + over("node", "fleet"), ">rows passed", "reason"})};
    for (const NodeVerdict verdict : {incorrect, missing, perf_fail, not_quiet, pass})
      for (const JudgedNode& node : acceptance_.nodes)
        if (node.verdict == verdict) table.lines.push_back(make_line(node));
    if (!page_.markdown()) shorten_reasons(table);
    page_.table(table);
  }

  void stragglers() {
    Table table{titled({">#", "node", ">" + over("node", "fleet"), ">deviation"})};
    for (const auto& straggler : acceptance_.stragglers) {
      if (table.lines.size() == shown_stragglers) break;
      const JudgedNode& node =
          *std::find_if(acceptance_.nodes.begin(), acceptance_.nodes.end(),
                        [&](const auto& judged) { return judged.node == straggler.node; });
      table.lines.push_back(
          {{std::to_string(straggler.rank), straggler.node, speedup_text(node),
            straggler.deviation ? fmt::format("{:+.1f}", *straggler.deviation) : "-"}});
    }
    if (table.lines.empty()) return;
    page_.heading("Slowest nodes");
    page_.table(table);
    page_.item(
        "deviation: from the median of the other nodes, in units of their spread (1.4826 MAD)");
  }

  void details() {
    for (const JudgedNode& node : acceptance_.nodes) {
      if (node.verdict == pass || node.reason == no_result) continue;
      std::vector<std::string> items;
      const auto take = [&](const auto& finding, const std::string& subject) {
        if (finding.verdict <= pass) return;
        if (finding.reason == too_few_nodes) return;  // said above, of all rows
        items.push_back(
            fmt::format("{} {}: {}", verdict_names[finding.verdict], subject, finding.reason));
      };
      for (const Check& finding : node.health.findings) take(finding, finding.criterion);
      for (const JudgedRow& row : node.rows) take(row, row.id);
      if (const std::size_t all = items.size(); all > shown_rows) {
        items.resize(shown_rows);
        items.push_back(fmt::format("and {} more (--format json shows all)", all - shown_rows));
      }
      page_.list(fmt::format("{} ({})", node.node, verdict_names[node.verdict]), items);
    }
  }

  /// Rows whose times are upper limits, even where they passed.
  void marked(const char* heading, const std::string& mark, const char* why) {
    std::vector<std::string> items;
    for (const JudgedNode& node : acceptance_.nodes) {
      std::vector<std::string> ids;
      for (const JudgedRow& row : node.rows)
        if (mark_of_row(row) == mark) ids.push_back(row.id);
      if (!ids.empty())
        items.push_back(
            fmt::format("{}: {}{}", node.node, ids[0],
                        ids.size() > 1 ? fmt::format(" and {} more", ids.size() - 1) : ""));
    }
    page_.list(fmt::format("{} ({}): {} while they were timed", heading, mark, why), items);
  }

  /// States that are unknown and not required.
  void unknown_states() {
    std::vector<std::string> criteria, items;  // in the order of the first nodes
    std::map<std::string, std::size_t> counts;
    for (const JudgedNode& node : acceptance_.nodes)
      for (const Check& finding : node.health.findings)
        if (finding.verdict == unknown && ++counts[finding.criterion] == 1)
          criteria.push_back(finding.criterion);
    for (const std::string& criterion : criteria)
      items.push_back(fmt::format("{}: {} of {}", criterion, counts[criterion],
                                  counted(acceptance_.nodes.size(), "node")));
    page_.list(
        "Not judged: the node does not report the quantity, and the criteria do not require it",
        items);
  }

  void fleet() {
    const auto list = [&](const char* heading, const auto& entries, const auto& subject) {
      std::vector<std::string> items;
      for (const auto& entry : entries) items.push_back(entry.*subject + ": " + entry.reason);
      page_.list(heading, items);
    };
    list("Criteria that are not met", acceptance_.unmet, &Acceptance::Unmet::criterion);
    list("Optional criteria that apply to nothing", acceptance_.optional_unmatched,
         &Acceptance::Unmatched::criterion);
    page_.list("Nodes that the criteria do not name (not judged)", acceptance_.unexpected);
    list("Rows that are not judged", acceptance_.not_judged, &Acceptance::NotJudged::id);
  }

  const Acceptance& acceptance_;
  Page page_;
};

}  // namespace

std::string render_acceptance(const Acceptance& acceptance, bool markdown) {
  return Renderer(acceptance, markdown).text();
}

}  // namespace assay
