#include "analysis/accept/acceptance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/accept/checks.hpp"
#include "analysis/ratio.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

using namespace verdict;

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

bool any(const NodeRow& row, bool (*holds)(const json&)) {
  return std::any_of(row.launches.begin(), row.launches.end(), holds);
}

/// Why a slow time of the row proves nothing; "" if it does.
std::string why_disturbed(const NodeRow& row) {
  if (any(row, was_shared))
    return "disturbed: other work used the processors while it was timed (!)";
  if (any(row, was_throttled))
    return fmt::format(
        "throttled: power or heat held the clock of the device down while it was timed ({})",
        throttled_mark);
  return "";
}

/// Of two checks, which tells less of a row. That a fleet is too small is known of all rows alike,
/// so whatever is found of this one tells more.
bool less_severe(const json& a, const json& b) {
  const auto rank = [](const json& check) {
    const int own = 2 * severity(check["verdict"]);
    return check["reason"] == too_few_nodes ? 1 : own;
  };
  return rank(a) < rank(b);
}

class Acceptance {
 public:
  Acceptance(const Fleet& fleet, const Criteria& criteria) : fleet_(fleet), criteria_(criteria) {}

  json document(const std::string& command) {
    const std::vector<json> differences = differences_from_fleet(fleet_);
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const Node& node = fleet_.nodes[i];
      json health = health_of(node, criteria_);
      for (const json& finding : differences[i]) health["findings"].push_back(finding);
      noise_.push_back(noise_of(health));
      nodes_.push_back({{"node", node.name},
                        {"verdict", pass},
                        {"reason", nullptr},
                        {"score", nullptr},
                        {"speedup", nullptr},
                        {"rows", json::array()},
                        {"rows_missing", node.rows.empty() ? fleet_.ids.size() : 0},
                        {"health", std::move(health)}});
    }
    too_few_ = why_too_few();
    for (const std::string& id : fleet_.ids) judge_rows(id);
    for (const auto& [id, row] : fleet_.multi_node) judge_multi_node(id, row);
    judge_fleet();
    // In the order of severity().
    constexpr std::array keys{"pass", "not_quiet", "perf_fail", "missing", "incorrect"};
    json summary = {{"nodes", nodes_.size()}};
    for (const char* key : keys) summary[key] = 0;
    for (json& node : nodes_) {
      conclude(node);
      const std::string verdict = node["verdict"];
      code_ = gravest(code_, code_of(verdict));
      json& count = summary[keys[static_cast<std::size_t>(severity(verdict))]];
      count = count.get<int>() + 1;
    }
    const json ranked = stragglers();
    const auto [verdict, reason] = fleet_verdict();
    code_ = gravest(code_, code_of(verdict));
    return {{"schema", "assay-acceptance/1"},
            {"command", command},
            {"criteria", {{"name", criteria_.name}, {"file", criteria_.file}}},
            {"verdict", verdict},
            {"reason", reason},
            {"not_compared", too_few_.empty() ? json() : json(too_few_)},
            {"judged", std::move(judged_)},
            {"nodes", std::move(nodes_)},
            {"stragglers", ranked},
            {"unmet", unmet_},
            {"optional_unmatched", optional_unmatched_},
            {"unexpected", fleet_.unexpected},
            {"not_judged", not_judged()},
            {"summary", summary},
            {"exit_code", static_cast<int>(code_)}};
  }

 private:
  /// Rows without a verdict, each with the reason.
  json not_judged() const {
    json rows = json::array();
    for (const auto& [id, why] : fleet_.not_judged) rows.push_back({{"id", id}, {"reason", why}});
    for (const auto& [id, row] : fleet_.multi_node)
      if (row.status == "unsupported" && !row.required)
        rows.push_back({{"id", id}, {"reason", "unsupported: " + row.reason}});
      else if (row.status == "ok" && !has_absolute_rule(id))
        rows.push_back({{"id", id},
                        {"reason",
                         "several nodes ran it together, so its time belongs to no single "
                         "node, and no absolute criterion applies to it"}});
    return rows;
  }

  json status_check(const NodeRow& row) {
    const char* const criterion = "present, correct and complete";
    if (row.status == "ok") return check(criterion, nullptr, nullptr, pass, nullptr);
    if (row.status == "incorrect")
      return check(criterion, nullptr, nullptr, incorrect, "incorrect: " + row.reason);
    if (row.status == "failed" || row.status == "timeout" ||
        (row.status == "unsupported" && row.required))
      code_ = gravest(code_, ExitCode::failed);
    if (row.status == "target missed") code_ = gravest(code_, ExitCode::target_missed);
    return check(criterion, nullptr, nullptr, missing,
                 row.status == "missing" ? row.reason : row.status + ": " + row.reason);
  }

  /// Why no row can have a relative verdict, whatever its time is; "" where some can.
  std::string why_too_few() const {
    const auto nodes =
        std::count_if(fleet_.nodes.begin(), fleet_.nodes.end(), [](const Node& node) {
          return std::any_of(node.rows.begin(), node.rows.end(), [](const auto& entry) {
            return entry.second.status == "ok" && entry.second.value > 0;
          });
        });
    if (criteria_.relative.empty() || nodes == 0 || nodes > static_cast<int>(least_others))
      return "";
    return fmt::format(
        "{} times, and the relative criteria compare a node with the median of at least {} "
        "others, so none can be judged by them. Measure {} nodes or more, or give criteria with "
        "\"absolute\" limits alone.",
        nodes == 1 ? "One node alone has" : fmt::format("Only {} nodes have", nodes), least_others,
        least_others + 1);
  }

  void judge_rows(const std::string& id) {
    std::vector<double> values;
    json names = json::array();
    for (const Node& node : fleet_.nodes) {
      if (node.rows.empty()) continue;
      const NodeRow& row = node.rows.at(id);
      if (row.status == "ok" && row.value > 0) values.push_back(row.value);
      if (names.empty()) names = row.names;
    }
    judged_.push_back({{"id", id}, {"names", std::move(names)}});
    const std::vector<Standing> positions = standings(values);
    for (std::size_t i = 0, next = 0; i < fleet_.nodes.size(); ++i) {
      if (fleet_.nodes[i].rows.empty()) continue;
      const NodeRow& row = fleet_.nodes[i].rows.at(id);
      const bool ok = row.status == "ok" && row.value > 0;
      const Standing position = ok ? positions[next++] : Standing{};
      json limit, checks = json::array({status_check(row)});
      if (row.status == "ok" && !ok)
        checks[0] = check(checks[0]["criterion"], nullptr, nullptr, missing,
                          "its time is 0: below the resolution of the timer");
      for (const RelativeRule& rule : criteria_.relative)
        if (ok && rule.rows.applies_to(id)) {
          checks.push_back(relative_check(row, rule, position));
          if (!position.others && !too_few_.empty()) checks.back()["reason"] = too_few_nodes;
          const double own = checks.back()["limit"];
          if (limit.is_null() || own < limit.get<double>()) limit = own;
        }
      for (const AbsoluteRule& rule : criteria_.absolute)
        if (ok && rule.rows.applies_to(id)) checks.push_back(absolute_check(row, rule));
      const std::string own = why_disturbed(row), &noise = own.empty() ? noise_[i] : own;
      if (!noise.empty())
        for (json& check : checks) allow_for_noise(check, noise);
      const json& worst = *std::max_element(checks.begin(), checks.end(), less_severe);
      nodes_[i]["rows"].push_back(
          {{"id", id},
           {"names", row.names},
           {"status", row.status},
           {"value", ok ? json(row.value) : json()},
           {"low", ok && row.spread ? json(row.spread->low) : json()},
           {"high", ok && row.spread ? json(row.spread->high) : json()},
           {"launches", row.launches.size()},
           {"fleet_median", or_null(position.others)},
           {"ratio", position.others ? json(row.value / *position.others) : json()},
           {"speedup", position.others ? json(speedup(row.value, *position.others)) : json()},
           {"disturbed", any(row, was_shared)},
           {"throttled", any(row, was_throttled)},
           {"deviation", or_null(position.deviation)},
           {"limit", limit},
           {"verdict", worst["verdict"]},
           {"reason", worst["reason"]},
           {"checks", checks}});
    }
  }

  void unmet(const std::string& criterion, const std::string& reason,
             const std::string& verdict = missing) {
    unmet_.push_back({{"criterion", criterion}, {"reason", reason}, {"verdict", verdict}});
    code_ = gravest(code_, code_of(verdict));
  }

  void unmatched(const std::string& criterion, const std::string& reason, bool optional) {
    if (optional)
      optional_unmatched_.push_back({{"criterion", criterion}, {"reason", reason}});
    else
      unmet(criterion, reason + ": correct it, or mark it \"optional\": true");
  }

  bool has_absolute_rule(const std::string& id) const {
    return std::any_of(criteria_.absolute.begin(), criteria_.absolute.end(),
                       [&](const AbsoluteRule& rule) { return rule.rows.applies_to(id); });
  }

  /// A row of several nodes is not held against a node, and it cannot be compared with one.
  void judge_multi_node(const std::string& id, const NodeRow& row) {
    std::vector<json> checks{status_check(row)};
    for (const AbsoluteRule& rule : criteria_.absolute)
      if (row.status == "ok" && rule.rows.applies_to(id))
        checks.push_back(absolute_check(row, rule));
    const bool demanded = row.required || row.status != "unsupported";
    for (json& check : checks) {
      if (const std::string noise = why_disturbed(row); !noise.empty())
        allow_for_noise(check, noise);
      if (check["verdict"] != pass && demanded)
        unmet(id, "row of several nodes: " + check["reason"].get<std::string>(), check["verdict"]);
    }
  }

  void judge_fleet() {
    if (fleet_.ids.empty() && fleet_.multi_node.empty())
      unmet("rows", "no row of any node is judged");
    if (criteria_.node_count && fleet_.nodes.size() < *criteria_.node_count)
      unmet(fmt::format("{} nodes", *criteria_.node_count),
            fmt::format("only {} have results, {} are missing", fleet_.nodes.size(),
                        *criteria_.node_count - fleet_.nodes.size()));
    if (criteria_.node_count && fleet_.nodes.size() > *criteria_.node_count)
      unmet(fmt::format("{} nodes", *criteria_.node_count),
            fmt::format("{} have results, which is more", fleet_.nodes.size()));
    if (!fleet_.unexpected.empty())
      unmet("nodes by name",
            fmt::format("{} has results, but the criteria do not name it{}", fleet_.unexpected[0],
                        fleet_.unexpected.size() > 1
                            ? fmt::format(" (and {} more)", fleet_.unexpected.size() - 1)
                            : ""));
    needs_rows();
    needs_states();
  }

  /// Every criterion must apply to a row: a misspelt pattern would judge nothing and pass
  /// everything.
  void needs_rows() {
    const auto look = [&](const RowsRule& rows, const std::string& criterion, bool optional,
                          bool of_nodes = false) {
      if (std::none_of(fleet_.ids.begin(), fleet_.ids.end(),
                       [&](const std::string& id) { return rows.applies_to(id); }) &&
          std::none_of(fleet_.multi_node.begin(), fleet_.multi_node.end(),
                       [&](const auto& job) { return !of_nodes && rows.applies_to(job.first); }))
        unmatched(criterion, "it applies to no row, so it judged nothing", optional);
    };
    for (const RelativeRule& rule : criteria_.relative)
      look(rule.rows, rule.text, rule.optional, true);
    for (const AbsoluteRule& rule : criteria_.absolute) look(rule.rows, rule.text, rule.optional);
    for (const RowsRule& rule : criteria_.include)
      look(rule, fmt::format("rows that match {}", rule.text), false);
  }

  /// Every criterion on the state must name a quantity that some node reports (if only as null), or
  /// this version: a file of an older one may lack it.
  void needs_states() {
    std::vector<const json*> states;
    for (const json& node : nodes_)
      for (const char* when : {"before", "after"})
        if (const json& state = node["health"][when]; state.is_object() && !state.empty())
          states.push_back(&state);
    if (states.empty()) return;
    const json own = present_state();
    states.push_back(&own);
    for (std::size_t i = 0; i < criteria_.health.size(); ++i) {
      const HealthRule& rule = criteria_.health[i];
      if (!names_a_state(rule, states, fmt::format("{} at /health/{}/quantity", criteria_.file, i)))
        unmatched(rule.quantity.to_string(), "no node reports this quantity, so it judged nothing",
                  true);
    }
  }

  /// The first finding that shows that the machine was not quiet before or during the run, or "". A
  /// slow row then proves nothing.
  static std::string noise_of(const json& health) {
    for (const json& finding : health["findings"])
      if (finding["verdict"] == not_quiet)
        return fmt::format("the node was not quiet ({}: found {:.3g})",
                           finding["criterion"].get<std::string>(), finding["value"].get<double>());
    return "";
  }

  /// The most severe verdict of all nodes and of the criteria of the fleet, with its first reason.
  std::pair<std::string, json> fleet_verdict() const {
    std::string worst = pass;
    json reason;
    const auto take = [&](const std::string& verdict, const std::string& why) {
      if (severity(verdict) <= severity(worst)) return;
      worst = verdict;
      reason = why;
    };
    for (const json& node : nodes_)
      if (node["verdict"] != pass && node["reason"] != too_few_nodes)
        take(node["verdict"], fmt::format("{}: {}", node["node"].get<std::string>(),
                                          node["reason"].get<std::string>()));
    if (!too_few_.empty()) take(missing, too_few_);
    for (const json& rule : unmet_)
      take(rule["verdict"], fmt::format("{}: {}", rule["criterion"].get<std::string>(),
                                        rule["reason"].get<std::string>()));
    return {worst, reason};
  }

  /// Sets verdict, reason and score of a node from its rows and health.
  static void conclude(json& node) {
    std::string verdict = pass;
    json reason;
    std::vector<double> ratios;
    std::size_t count = 0;
    bool alone = false;  // with too few other nodes: known of all rows, so said once
    const auto take = [&](const json& judged, const std::string& what) {
      if (judged["reason"] == too_few_nodes) {
        alone = true;
        return;
      }
      const std::string own = judged["verdict"] == "unknown" ? pass : judged["verdict"];
      if (severity(own) > severity(verdict)) {
        verdict = own;
        reason = what + ": " + judged["reason"].get<std::string>();
        count = 0;
      }
      if (own != pass && own == verdict) ++count;
    };
    for (const json& row : node["rows"]) {
      take(row, row["id"]);
      if (!row["ratio"].is_null()) ratios.push_back(row["ratio"]);
    }
    for (const json& finding : node["health"]["findings"]) take(finding, finding["criterion"]);
    if (node["rows"].empty()) {
      verdict = missing;
      reason = no_result;
      count = 1;
    }
    if (alone && verdict == pass) {
      verdict = missing;
      reason = too_few_nodes;
      count = 1;
    }
    node["verdict"] = verdict;
    if (count > 1) reason = fmt::format("{} (and {} more)", reason.get<std::string>(), count - 1);
    node["reason"] = reason;
    if (ratios.empty()) return;
    node["score"] = ratio_median(ratios);
    node["speedup"] = speedup_json(node["score"]);
  }

  json stragglers() const {
    std::vector<std::pair<double, std::string>> scored;
    for (const json& node : nodes_)
      if (!node["score"].is_null()) scored.emplace_back(node["score"], node["node"]);
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<double> scores;
    for (const auto& [score, name] : scored) scores.push_back(score);
    const std::vector<Standing> positions = standings(scores);
    json ranked = json::array();
    for (std::size_t i = 0; i < scored.size(); ++i)
      ranked.push_back({{"node", scored[i].second},
                        {"score", scored[i].first},
                        {"speedup", speedup_of(scored[i].first)},
                        {"rank", i + 1},
                        {"deviation", or_null(positions[i].deviation)}});
    return ranked;
  }

  const Fleet& fleet_;
  const Criteria& criteria_;
  std::vector<std::string> noise_;  ///< by node, "" where it was quiet
  std::string too_few_;             ///< why_too_few()
  json judged_ = json::array(), nodes_ = json::array(), unmet_ = json::array(),
       optional_unmatched_ = json::array();
  ExitCode code_ = ExitCode::ok;
};

}  // namespace

json acceptance_document(const Fleet& fleet, const Criteria& criteria, const std::string& command) {
  return Acceptance(fleet, criteria).document(command);
}

}  // namespace assay
