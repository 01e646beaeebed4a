#include "analysis/accept/acceptance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/accept/limits.hpp"
#include "analysis/accept/spread.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

using enum NodeVerdict;

/// Why a slow time of the row proves nothing; "" if it does.
std::string why_disturbed(const NodeRow& row) {
  if (row.disturbed) return "disturbed: other work used the processors while it was timed (!)";
  if (!row.throttled) return "";
  return fmt::format(
      "throttled: power or heat held the clock of the device down while it was timed ({})",
      throttled_mark);
}

/// True if a finding of the node already tells why its rows are not comparable.
bool is_described_by_node(const JudgedRow& row) {
  return row.verdict == not_comparable && row.reason.starts_with(not_comparable_text);
}

/// True if check `a` is less informative about a row than check `b`. A finding that is the same for
/// all rows is the least informative.
bool less_severe(const Check& a, const Check& b) {
  const auto rank = [](const Check& check) {
    return is_told_once(check.reason) ? 2 * static_cast<int>(pass) + 1
                                      : 2 * static_cast<int>(check.verdict);
  };
  return rank(a) < rank(b);
}

/// The first finding that the machine was not quiet before or during the run, or "". After such a
/// finding a slow row proves nothing.
std::string find_noise(const Health& health) {
  for (const Check& finding : health.findings)
    if (finding.verdict == not_quiet)
      return fmt::format("the node was not quiet ({}: found {:.3g})", finding.criterion,
                         *finding.value);
  return "";
}

/// Sets verdict, reason and score of a node from its health and its rows. The reason is the first
/// finding with the verdict.
void conclude(JudgedNode& node) {
  std::vector<double> ratios;
  std::size_t count = 0;
  bool alone = false;  // with too few other nodes; this holds for all rows, so it is reported once
  const auto take = [&](const auto& judged, const std::string& subject) {
    if (is_told_once(judged.reason)) {
      alone |= judged.reason == too_few_nodes;
    } else if (judged.verdict > node.verdict) {
      node.verdict = judged.verdict;
      node.reason = judged.reason.starts_with(not_comparable_text) ? judged.reason
                                                                   : subject + ": " + judged.reason;
      count = 1;
    } else if (judged.verdict == node.verdict) {
      ++count;
    }
  };
  for (const Check& finding : node.health.findings) take(finding, finding.criterion);
  for (const JudgedRow& row : node.rows) {
    if (!is_described_by_node(row)) take(row, row.id);
    if (row.ratio) ratios.push_back(*row.ratio);
  }
  if (node.verdict > pass && count > 1)
    node.reason += fmt::format(" (and {})", format_count(count - 1, "more finding"));
  if (node.rows.empty()) {
    node.verdict = missing;
    node.reason = no_result;
  } else if (alone && node.verdict == pass) {
    node.verdict = missing;
    node.reason = too_few_nodes;
  }
  if (ratios.empty()) return;
  node.score = ratio_median(ratios);
  node.speedup = compute_speedup(*node.score);
}

class FleetJudge {
 public:
  FleetJudge(const Fleet& fleet, const Criteria& criteria)
      : fleet_(fleet), criteria_(criteria), limits_(criteria) {}

  Acceptance judge() {
    judge_states();
    result_.not_compared = why_too_few();
    for (const std::string& id : fleet_.ids) judge_rows(id);
    for (const auto& [id, why] : fleet_.not_judged) result_.not_judged.push_back({id, why});
    for (const auto& [id, row] : fleet_.multi_node) judge_multi_node(id, row);
    for (const Fleet::Path& path : fleet_.paths) judge_path(path);
    for (const std::vector<std::string>& ends : fleet_.unmeasured)
      add_unmet("pairs", fmt::format("between {}: no result", join(ends, " and ")));
    for (const SpreadRule& rule : criteria_.spread) judge_spread(rule);
    judge_whole();
    for (JudgedNode& node : result_.nodes) conclude(node);
    rank_stragglers();
    conclude_fleet();
    result_.limits = limits_.take();
    return std::move(result_);
  }

 private:
  void judge_states() {
    std::vector<std::vector<Check>> differences = compare_environments(fleet_);
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const Node& measured = fleet_.nodes[i];
      std::vector<Check>& findings = differences[i];
      JudgedNode& node = result_.nodes.emplace_back(JudgedNode{measured.name});
      if (measured.rows.empty()) node.rows_missing = fleet_.ids.size();
      comparable_.push_back(
          std::none_of(findings.begin(), findings.end(),
                       [](const Check& finding) { return finding.verdict == not_comparable; }));
      if (std::optional<Check> threads = compare_threads(measured))
        findings.push_back(std::move(*threads));
      node.health = judge_health(measured, criteria_);
      limits_.add(node.health.findings);
      if (measured.rows.empty())
        limits_.add_missing_rows(node.rows_missing);
      else
        limits_.add_environment(findings);
      node.health.findings.insert(node.health.findings.begin(), findings.begin(), findings.end());
    }
  }

  void raise(ExitCode code) { result_.exit_code = find_gravest(result_.exit_code, code); }

  Check check_status(const NodeRow& row) {
    Check check{present_text};
    if (row.status == "ok") return check;
    if (row.status == "missing" && row.other_threads) {
      check.verdict = not_comparable;
      check.reason = not_comparable_text + row.reason;
      return check;
    }
    check.verdict = row.status == "incorrect" ? incorrect : missing;
    check.reason = row.status == "missing" ? row.reason : row.status + ": " + row.reason;
    if (row.status == "failed" || row.status == "timeout" ||
        (row.status == "unsupported" && row.required))
      raise(ExitCode::failed);
    if (row.status == "target missed") raise(ExitCode::target_missed);
    return check;
  }

  /// Why no row can have a relative verdict, whatever its time; "" if some row can.
  std::string why_too_few() const {
    std::size_t nodes = 0;
    bool all_comparable = true;
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const auto& rows = fleet_.nodes[i].rows;
      if (!std::any_of(rows.begin(), rows.end(),
                       [](const auto& row) { return row.second.value.has_value(); }))
        continue;
      nodes += comparable_[i] ? 1 : 0;
      all_comparable &= comparable_[i];
    }
    if (criteria_.relative.empty() || nodes == 0 || nodes > least_others) return "";
    return fmt::format(
        "{} times{}, and the relative criteria compare a node with the median of at least {} "
        "others, so none can be judged by them. Measure {} nodes or more, or give criteria with "
        "\"absolute\" limits alone.",
        nodes == 1 ? "One node alone has" : fmt::format("Only {} nodes have", nodes),
        all_comparable ? "" : " of equal hardware and software", least_others, least_others + 1);
  }

  void judge_rows(const std::string& id) {
    std::vector<double> values;
    Acceptance::Case& judged = result_.judged.emplace_back(Acceptance::Case{id});
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const Node& node = fleet_.nodes[i];
      if (node.rows.empty()) continue;
      const NodeRow& row = node.rows.at(id);
      if (row.value && comparable_[i]) values.push_back(*row.value);
      if (judged.names.empty()) judged.names = row.names;
    }
    const std::vector<Standing> positions = standings(values);
    for (std::size_t i = 0, next = 0; i < fleet_.nodes.size(); ++i) {
      if (fleet_.nodes[i].rows.empty()) continue;
      const NodeRow& row = fleet_.nodes[i].rows.at(id);
      const bool is_compared = row.value && comparable_[i];
      judge_row(i, id, row, is_compared ? positions[next++] : Standing{});
    }
  }

  Check check_compared(const NodeRow& row, const RelativeRule& rule, const Standing& position,
                       bool comparable) const {
    Check check = check_relative(row, rule, position);
    if (position.others) return check;
    if (!comparable) {
      check.verdict = not_comparable;
      check.reason = other_environment;
    } else if (!result_.not_compared.empty()) {
      check.reason = too_few_nodes;
    }
    return check;
  }

  void judge_row(std::size_t node_index, const std::string& id, const NodeRow& row,
                 const Standing& position) {
    JudgedNode& node = result_.nodes[node_index];
    JudgedRow& judged = node.rows.emplace_back(JudgedRow{row, id});
    judged.checks.push_back(check_status(row));
    if (row.value)
      for (const RelativeRule& rule : criteria_.relative)
        if (rule.rows.applies_to(id)) {
          const Check& check = judged.checks.emplace_back(
              check_compared(row, rule, position, comparable_[node_index]));
          if (!judged.limit || check.limit < judged.limit) judged.limit = check.limit;
        }
    if (row.value) check_limits(judged.checks, id, row);
    if (row.status == "ok" && !row.value) {
      judged.checks[0].verdict = missing;
      judged.checks[0].reason = "its time is 0: below the resolution of the timer";
    }
    if (position.others) {
      judged.fleet_median = position.others;
      judged.ratio = *row.value / *position.others;
      judged.speedup = speedup(*row.value, *position.others);
      judged.deviation = position.deviation;
    }
    const std::string noise = why_disturbed(row);
    allow_for_noise(judged.checks, noise.empty() ? find_noise(node.health) : noise);
    limits_.add(judged.checks);
    const Check& worst = *std::max_element(judged.checks.begin(), judged.checks.end(), less_severe);
    judged.verdict = worst.verdict;
    judged.reason = worst.reason;
    if (judged.verdict > pass && !is_told_once(judged.reason) && row.pairs > 0)
      judged.reason +=
          fmt::format("; in the best of its {}, {}", format_count(row.pairs, "pair"), row.pair);
  }

  void check_limits(std::vector<Check>& checks, const std::string& id, const NodeRow& row) const {
    for (const AbsoluteRule& rule : criteria_.absolute)
      if (rule.rows.applies_to(id)) checks.push_back(check_absolute(row, rule));
  }

  void judge_spread(const SpreadRule& rule) {
    const SpreadOutcome outcome = check_spread(rule, result_.nodes);
    if (!outcome.too_few.empty()) add_unmatched(rule.text, outcome.too_few, rule.optional);
    if (!outcome.too_wide.empty()) add_unmet(rule.text, outcome.too_wide, perf_fail);
    for (const auto& [index, check] : outcome.checks) {
      JudgedNode& node = result_.nodes[index];
      std::vector<Check> checks{check};
      std::string noise = find_noise(node.health);
      for (const JudgedRow& row : node.rows)
        if (noise.empty() && rule.rows.applies_to(row.id)) noise = why_disturbed(row);
      allow_for_noise(checks, noise);
      limits_.add(checks);
      node.health.findings.push_back(checks[0]);
    }
  }

  void add_unmet(const std::string& criterion, const std::string& reason,
                 NodeVerdict verdict = missing) {
    result_.unmet.push_back({criterion, reason, verdict});
  }

  void add_unmatched(const std::string& criterion, const std::string& reason, bool optional) {
    if (optional)
      result_.optional_unmatched.push_back({criterion, reason});
    else
      add_unmet(criterion, reason + ": correct it, or mark it \"optional\": true");
  }

  /// A row of several nodes does not count against any single node, and is not compared with rows
  /// of single nodes.
  void judge_multi_node(const std::string& id, const NodeRow& row) {
    std::vector<Check> checks{check_status(row)};
    if (row.status == "ok") check_limits(checks, id, row);
    if (row.status == "unsupported" && !row.required)
      result_.not_judged.push_back({id, "unsupported: " + row.reason});
    else if (row.status == "ok" && checks.size() == 1)
      result_.not_judged.push_back(
          {id,
           "several nodes ran it together, so its time belongs to no single node, and no absolute "
           "criterion applies to it"});
    allow_for_noise(checks, why_disturbed(row));
    if (row.required || row.status != "unsupported") limits_.add(checks);
    for (const Check& check : checks)
      if (check.verdict != pass && (row.required || row.status != "unsupported"))
        add_unmet(id, "row of several nodes: " + check.reason, check.verdict);
  }

  /// Judges the path between the nodes of a pair: it is at fault if the pair has a more severe
  /// verdict than the best pairs of its nodes.
  void judge_path(const Fleet::Path& path) {
    NodeVerdict of_ends = pass;
    for (const JudgedNode& node : result_.nodes)
      if (std::ranges::find(path.ends, node.node) != path.ends.end())
        for (const JudgedRow& row : node.rows)
          if (row.id == path.id) of_ends = std::max(of_ends, row.verdict);
    if (path.row.status == "unsupported" && !path.row.required) return;
    std::vector<Check> checks{check_status(path.row)};
    if (path.row.value) {
      for (const RelativeRule& rule : criteria_.relative)
        if (rule.rows.applies_to(path.id))
          checks.push_back(check_relative(path.row, rule, {path.expected, std::nullopt}));
      check_limits(checks, path.id, path.row);
    }
    allow_for_noise(checks, why_disturbed(path.row));
    limits_.add(checks);
    for (const Check& check : checks)
      if (check.verdict > of_ends)
        add_unmet(path.id, fmt::format("between {}: {}", join(path.ends, " and "), check.reason),
                  check.verdict);
  }

  void judge_whole() {
    const std::size_t nodes = fleet_.nodes.size(), wanted = criteria_.node_count.value_or(nodes);
    if (fleet_.ids.empty() && fleet_.multi_node.empty())
      add_unmet("rows", "no row of any node is judged");
    if (nodes != wanted)
      add_unmet(format_count(wanted, "node"),
                nodes < wanted
                    ? fmt::format("{} with results, {} missing", format_count(nodes, "node"),
                                  wanted - nodes)
                    : fmt::format("{} with results, which is more", format_count(nodes, "node")));
    if (const auto& unexpected = fleet_.unexpected; !unexpected.empty())
      add_unmet(
          "nodes by name",
          fmt::format(
              "{} has results, but the criteria do not name it{}", unexpected[0],
              unexpected.size() > 1 ? fmt::format(" (and {} more)", unexpected.size() - 1) : ""));
    need_rows();
    need_states();
  }

  /// Every criterion must apply to some row, because a misspelt pattern would judge nothing and
  /// pass everything.
  void need_rows() {
    std::vector<std::string> all = fleet_.ids;
    for (const auto& [id, row] : fleet_.multi_node) all.push_back(id);
    const auto need = [&](const RowsRule& rows, const std::vector<std::string>& ids,
                          const std::string& criterion, bool optional) {
      if (std::none_of(ids.begin(), ids.end(),
                       [&](const std::string& id) { return rows.applies_to(id); }))
        add_unmatched(criterion, "it applies to no row, so it judged nothing", optional);
    };
    for (const RelativeRule& rule : criteria_.relative)
      need(rule.rows, fleet_.ids, rule.text, rule.optional);
    for (const SpreadRule& rule : criteria_.spread)
      need(rule.rows, fleet_.ids, rule.text, rule.optional);
    for (const AbsoluteRule& rule : criteria_.absolute)
      need(rule.rows, all, rule.text, rule.optional);
    for (const RowsRule& rule : criteria_.include)
      need(rule, all, "rows that match " + rule.text, false);
  }

  /// Every criterion on the state must name a quantity that some node reports (possibly as null),
  /// or that this version knows, because a file of an older version may lack it.
  void need_states() {
    std::vector<const json*> states;
    for (const JudgedNode& node : result_.nodes)
      for (const json* state : {&node.health.before, &node.health.after})
        if (state->is_object() && !state->empty()) states.push_back(state);
    if (states.empty()) return;
    const json own = present_state();
    states.push_back(&own);
    for (std::size_t i = 0; i < criteria_.health.size(); ++i) {
      const HealthRule& rule = criteria_.health[i];
      if (!is_state_name(rule, states, fmt::format("{} at /health/{}/quantity", criteria_.file, i)))
        add_unmatched(rule.quantity.to_string(),
                      "no node reports this quantity, so it judged nothing", true);
    }
  }

  void rank_stragglers() {
    auto& ranked = result_.stragglers;
    for (const JudgedNode& node : result_.nodes)
      if (node.score) ranked.push_back({node.node, *node.score, *node.speedup});
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    std::vector<double> scores;
    for (const auto& straggler : ranked) scores.push_back(straggler.score);
    const std::vector<Standing> positions = standings(scores);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      ranked[i].rank = i + 1;
      ranked[i].deviation = positions[i].deviation;
    }
  }

  /// The most severe verdict of all nodes and of the criteria of the fleet, with its first reason.
  void conclude_fleet() {
    const auto take = [&](NodeVerdict verdict, const std::string& reason) {
      if (verdict <= result_.verdict) return;
      result_.verdict = verdict;
      result_.reason = reason;
    };
    std::map<NodeVerdict, std::size_t> count;
    for (const JudgedNode& node : result_.nodes) {
      ++count[node.verdict];
      raise(exit_code(node.verdict));
      if (node.reason != too_few_nodes) take(node.verdict, node.node + ": " + node.reason);
    }
    result_.summary = {result_.nodes.size(), count[pass],    count[not_quiet],
                       count[perf_fail],     count[missing], count[not_comparable],
                       count[incorrect]};
    if (!result_.not_compared.empty()) take(missing, result_.not_compared);
    for (const auto& unmet : result_.unmet) {
      raise(exit_code(unmet.verdict));
      take(unmet.verdict, unmet.criterion + ": " + unmet.reason);
    }
    raise(exit_code(result_.verdict));
  }

  const Fleet& fleet_;
  const Criteria& criteria_;
  LimitCounts limits_;
  std::vector<bool> comparable_;  ///< nodes with the hardware and software of most nodes
  Acceptance result_;
};

}  // namespace

Acceptance judge_fleet(const Fleet& fleet, const Criteria& criteria, const std::string& command) {
  Acceptance acceptance = FleetJudge(fleet, criteria).judge();
  acceptance.command = command;
  acceptance.criteria = {criteria.name, criteria.file, criteria.sha256, criteria.content};
  acceptance.unexpected = fleet.unexpected;
  return acceptance;
}

}  // namespace assay
