#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/accept/acceptance.hpp"
#include "analysis/junit.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

using enum NodeVerdict;

constexpr std::size_t shown_passes = 32;   ///< lines of nodes that passed
constexpr std::size_t shown_findings = 5;  ///< of a node
constexpr std::size_t prose_width = 80;

/// The mark of a row that the document reports as disturbed or throttled.
const char* mark_of_row(const JudgedRow& row) {
  return row.disturbed ? shared_mark : row.throttled ? throttled_mark : "";
}

/// A node's speedup over the others, with the mark of its rows.
std::string format_speedup(const JudgedNode& node) {
  if (!node.speedup) return "-";
  std::string mark;
  for (const JudgedRow& row : node.rows) mark = worse_mark(mark, mark_of_row(row));
  return fmt::format("{:.3f}{}", *node.speedup, mark);
}

/// "rows passed" of a node.
std::string format_verdict(const JudgedNode& node) {
  const auto passed = std::count_if(node.rows.begin(), node.rows.end(),
                                    [](const JudgedRow& row) { return row.verdict == pass; });
  return fmt::format("{} of {}", passed, node.rows.size() + node.rows_missing);
}

/// The reader's next step for a node with this verdict; null if there is none.
const char* advice(NodeVerdict verdict) {
  switch (verdict) {
    case NodeVerdict::not_quiet:
      return "measure again when nothing else runs there";
    case NodeVerdict::perf_fail:
      return "measure again; if it stays slow, the machine is: look at its clocks, memory and "
             "limits";
    case NodeVerdict::missing:
      return "run what is missing there, then judge again";
    case NodeVerdict::not_comparable:
      return "run it again with the software and threads of the others";
    case NodeVerdict::incorrect:
      return "use none of its numbers; run its rows again, then test its memory and processor";
    default:
      return nullptr;
  }
}

class Renderer {
 public:
  Renderer(const Acceptance& acceptance, bool markdown)
      : acceptance_(acceptance), page_(markdown) {}

  std::string text() {
    verdict();
    nodes();
    findings();
    next();
    marked("Disturbed rows", shared_mark, "other work used the processors");
    marked("Throttled rows", throttled_mark, "power or heat held the clock of the device down");
    fleet();
    limits();
    return page_.text();
  }

 private:
  /// An entry of a list, which is wrapped but never cut.
  void bullet(const std::string& text) {
    if (page_.markdown()) {
      page_.item(text);
      return;
    }
    std::string lines = wrap(visible(text), prose_width - 4);
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3)
      lines.insert(at + 1, "  ");
    page_.add("  - " + lines + "\n");
  }

  void list(const std::string& heading, const std::vector<std::string>& items) {
    if (items.empty()) return;
    page_.heading(heading);
    for (const std::string& item : items) bullet(item);
  }

  /// A blank line, which Markdown requires before every sentence.
  void separate() {
    if (!page_.markdown()) page_.blank();
  }

  void sentence(const std::string& text) {
    if (text.empty()) return;
    page_.gap();
    if (page_.markdown())
      page_.statement(text);
    else
      page_.add(wrap(visible(text), prose_width) + "\n");
  }

  /// The summary with its reasons; it comes first.
  void verdict() {
    const Acceptance::Summary& count = acceptance_.summary;
    std::vector<std::string> counts{fmt::format("{} PASS", count.pass)};
    for (const auto& [number, verdict] :
         {std::pair{count.perf_fail, perf_fail}, std::pair{count.incorrect, incorrect},
          std::pair{count.not_comparable, not_comparable}, std::pair{count.missing, missing},
          std::pair{count.not_quiet, not_quiet}})
      if (number > 0) counts.push_back(fmt::format("{} {}", number, verdict_names[verdict]));
    if (const std::size_t unmet = acceptance_.unmet.size(); unmet > 0)
      counts.push_back(fmt::format("{} of the fleet not met",
                                   unmet == 1 ? "1 criterion" : fmt::format("{} criteria", unmet)));
    page_.statement(fmt::format("{}: {} by {}: {}.", verdict_names[acceptance_.verdict],
                                format_count(count.nodes, "node"), acceptance_.criteria.name,
                                join(counts, ", ")));
    sentence(acceptance_.reason);
    if (acceptance_.not_compared != acceptance_.reason) sentence(acceptance_.not_compared);
    page_.blank();
  }

  /// The nodes, the most severe verdict first; within a verdict the slowest first.
  void nodes() {
    std::map<std::string, double> deviations;
    for (const auto& straggler : acceptance_.stragglers)
      if (straggler.deviation) deviations[straggler.node] = *straggler.deviation;
    std::vector<const JudgedNode*> sorted;
    for (const JudgedNode& node : acceptance_.nodes) sorted.push_back(&node);
    std::stable_sort(sorted.begin(), sorted.end(), [](const JudgedNode* a, const JudgedNode* b) {
      return std::pair(a->verdict, a->score.value_or(0)) >
             std::pair(b->verdict, b->score.value_or(0));
    });
    Table table{make_columns({"node", "verdict", ">" + over("node", "others"), ">rows passed|1"})};
    if (!deviations.empty()) table.columns.push_back({"deviation", true, "", 2});
    if (page_.markdown()) table.columns.push_back({"reason"});
    std::size_t passed = 0;
    for (const JudgedNode* node : sorted) {
      if (node->verdict == pass && ++passed > shown_passes) continue;
      Line& line = table.lines.emplace_back();
      line.cells = {node->node, verdict_names[node->verdict], format_speedup(*node),
                    format_verdict(*node)};
      if (const auto own = deviations.find(node->node); own != deviations.end())
        line.cells.push_back(fmt::format("{:+.1f}", own->second));
      else if (!deviations.empty())
        line.cells.emplace_back("-");
      if (page_.markdown()) line.cells.push_back(node->reason);
    }
    page_.table(table);
    if (passed > shown_passes)
      sentence(fmt::format("{} that passed are not shown (--format json has all).",
                           format_count(passed - shown_passes, "faster node")));
    separate();
    sentence(fmt::format("{}; the median of the rows.{}",
                         format_speedup_header("node", "the median of the other nodes"),
                         deviations.empty() ? ""
                                            : " deviation: from the median of the other nodes, in "
                                              "units of their spread (1.4826 MAD)."));
    if (acceptance_.summary.not_quiet > 0)
      sentence("NOT-QUIET: measure the node again when nothing else runs there.");
  }

  /// The findings of each node. Nodes with the same findings have one list.
  void findings() {
    std::vector<std::vector<const JudgedNode*>> groups;
    std::map<std::pair<NodeVerdict, std::vector<std::string>>, std::size_t> places;
    for (const JudgedNode& node : acceptance_.nodes) {
      if (node.verdict == pass) continue;
      std::vector<std::string> texts = list_finding_texts(node);
      if (texts.empty()) continue;
      const auto [place, added] = places.try_emplace({node.verdict, texts}, groups.size());
      if (added) groups.emplace_back();
      groups[place->second].push_back(&node);
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return a.front()->verdict > b.front()->verdict;
    });
    for (const auto& group : groups) {
      std::vector<std::string> names, texts = list_finding_texts(*group.front());
      for (const JudgedNode* node : group) names.push_back(node->node);
      const bool all = names.size() > 1 && names.size() == acceptance_.nodes.size();
      if (const std::size_t count = texts.size(); count > shown_findings) {
        texts.resize(shown_findings);
        texts.push_back(fmt::format("and {} (--format json has all)",
                                    format_count(count - shown_findings, "more finding")));
      }
      list(fmt::format("{} ({})",
                       all ? fmt::format("all {} nodes", names.size()) : join(names, ", "),
                       verdict_names[group.front()->verdict]),
           texts);
    }
  }

  void next() {
    std::map<NodeVerdict, std::vector<std::string>, std::greater<>> nodes;  // the most severe first
    for (const JudgedNode& node : acceptance_.nodes)
      if (node.reason != too_few_nodes) nodes[node.verdict].push_back(node.node);
    std::vector<std::string> steps;
    for (auto& [verdict, names] : nodes) {
      if (advice(verdict) == nullptr) continue;
      if (const std::size_t count = names.size(); count > shown_findings) {
        names.resize(shown_findings);
        names.push_back(fmt::format("and {} more", count - shown_findings));
      }
      steps.push_back(join(names, ", ") + ": " + advice(verdict));
    }
    list("Next steps", steps);
    if (acceptance_.next.empty()) return;
    separate();
    sentence("The rows of the gravest node, and the command that repeats each of them:");
    page_.gap();
    page_.add(page_.markdown() ? "`" + acceptance_.next + "`\n"
                               : "  " + visible(acceptance_.next) + "\n");
  }

  /// Rows whose times are upper limits, even if they passed.
  void marked(const char* heading, const std::string& mark, const char* why) {
    std::vector<std::string> items;
    for (const JudgedNode& node : acceptance_.nodes) {
      std::vector<std::string> ids;
      for (const JudgedRow& row : node.rows)
        if (mark_of_row(row) == mark) ids.push_back(row.id);
      if (!ids.empty())
        items.push_back(
            fmt::format("{}: {}{}", node.node, ids[0],
                        ids.size() > 1 ? " and " + format_count(ids.size() - 1, "more row") : ""));
    }
    list(fmt::format("{} ({}): {} while they were timed", heading, mark, why), items);
  }

  void fleet() {
    const auto add = [&](const char* heading, const auto& entries, const auto& subject) {
      std::vector<std::string> items;
      for (const auto& entry : entries) items.push_back(entry.*subject + ": " + entry.reason);
      list(heading, items);
    };
    add("Criteria that are not met", acceptance_.unmet, &Acceptance::UnmetCriterion::criterion);
    add("Optional criteria that apply to nothing", acceptance_.optional_unmatched,
        &Acceptance::UnmatchedCriterion::criterion);
    list("Nodes that the criteria do not name (not judged)", acceptance_.unexpected);
    add("Rows that are not judged", acceptance_.not_judged, &Acceptance::UnjudgedRow::id);
  }

  /// The limits that gave the verdict.
  void limits() {
    std::vector<std::string> items;
    for (const Acceptance::Limit& limit : acceptance_.limits) {
      const std::size_t known = limit.judged - limit.unknown;
      std::string text = limit.judged == 0 ? "nothing was judged by it"
                         : known == 0
                             ? "not reported by any node"
                             : fmt::format("{} of {}", limit.met, format_count(known, limit.unit));
      if (known > 0 && limit.unknown > 0)
        text += fmt::format(", not reported by {}", format_count(limit.unknown, limit.unit));
      items.push_back(limit.criterion + ": " + text);
    }
    list("Limits, and how many met them", items);
    if (acceptance_.criteria.sha256.empty()) return;
    separate();
    const auto file = [&](const std::string& what, const std::string& sha256) {
      sentence(what);
      page_.gap();
      page_.statement((page_.markdown() ? "" : "  ") + ("sha256 " + sha256));
    };
    file(fmt::format("Criteria {}: {}", acceptance_.criteria.name, acceptance_.criteria.file),
         acceptance_.criteria.sha256);
    if (const std::size_t count = acceptance_.results.size(); count > 0)
      sentence(fmt::format("{}: --format json has the hash of each.",
                           format_count(count, "result file")));
  }

  const Acceptance& acceptance_;
  Page page_;
};

}  // namespace

std::vector<std::string> list_finding_texts(const JudgedNode& node) {
  if (node.reason == no_result) return {no_result};
  std::vector<std::pair<NodeVerdict, std::string>> findings;
  for (const Check& finding : node.health.findings) {
    if (finding.verdict <= pass) continue;
    const bool speaks = finding.verdict == not_comparable;
    findings.emplace_back(finding.verdict,
                          speaks ? finding.reason : finding.criterion + ": " + finding.reason);
  }
  for (const JudgedRow& row : node.rows) {
    if (row.verdict <= pass || is_told_once(row.reason) || row.verdict == not_comparable) continue;
    findings.emplace_back(row.verdict, row.id + ": " + row.reason);
  }
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    const auto place = [](NodeVerdict verdict) {
      return verdict == not_comparable ? static_cast<int>(incorrect) + 1
                                       : static_cast<int>(verdict);
    };
    return place(a.first) > place(b.first);
  });
  std::vector<std::string> texts;
  for (const auto& [verdict, text] : findings)
    texts.push_back(verdict == node.verdict || verdict == not_comparable
                        ? text
                        : fmt::format("{}: {}", verdict_names[verdict], text));
  return texts;
}

std::string render_acceptance(const Acceptance& acceptance, bool markdown) {
  return Renderer(acceptance, markdown).text();
}

namespace {

void add(JunitSuite& suite, const std::string& test, NodeVerdict verdict,
         const std::string& reason) {
  // They are in the order of NodeVerdict.
  constexpr const char* outcomes[] = {"skipped", "",      "error",  "failure",
                                      "error",   "error", "failure"};
  suite.add(test, outcomes[static_cast<std::size_t>(verdict)], verdict_names[verdict], reason);
}

}  // namespace

std::string render_junit_xml(const Acceptance& acceptance) {
  std::string suites;
  JunitSuite fleet("fleet");
  for (const auto& unmet : acceptance.unmet)
    add(fleet, unmet.criterion, unmet.verdict, unmet.reason);
  const auto write = [&](JunitSuite& suite) {
    suite.set_property("criteria", acceptance.criteria.name);
    suite.set_property("criteria sha256", acceptance.criteria.sha256);
    suite.write(suites);
  };
  write(fleet);
  for (const JudgedNode& node : acceptance.nodes) {
    JunitSuite suite(node.node);
    for (const JudgedRow& row : node.rows)
      for (const Check& check : row.checks)
        add(suite, row.id + ": " + check.criterion, check.verdict, check.reason);
    for (const Check& finding : node.health.findings)
      add(suite, "health: " + finding.criterion, finding.verdict, finding.reason);
    if (node.rows.empty())
      add(suite, "node", NodeVerdict::missing,
          std::string(no_result) + ": none of " + format_count(node.rows_missing, "judged row"));
    write(suite);
  }
  return escape_junit(suites);
}

}  // namespace assay
