#include "analysis/accept/acceptance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace assay {

using nlohmann::json;

namespace {

const char* const pass = "PASS";
const char* const perf_fail = "PERF-FAIL";
const char* const incorrect = "INCORRECT";
const char* const missing = "MISSING";

/// In the order of their exit codes: 3, 6, 4, 0.
int gravity(const std::string& verdict) {
  if (verdict == incorrect) return 3;
  if (verdict == missing) return 2;
  return verdict == perf_fail ? 1 : 0;
}

ExitCode code_of(const std::string& verdict) {
  constexpr ExitCode codes[] = {ExitCode::ok, ExitCode::slower, ExitCode::incomparable,
                                ExitCode::incorrect};
  return codes[gravity(verdict)];
}

json check(const std::string& criterion, const json& value, const json& limit, const char* verdict,
           const json& reason) {
  return {{"criterion", criterion},
          {"value", value},
          {"limit", limit},
          {"verdict", verdict},
          {"reason", reason}};
}

/// The median of a row's quantity over its launches, or why it is unknown.
std::optional<double> quantity_of(const NodeRow& row, const std::string& quantity,
                                  std::string& why) {
  if (quantity == "time_s") return row.value;
  std::vector<double> values;
  for (const json& launch : row.launches) {
    json value;
    if (quantity == "ceiling_fraction") {
      const json ceiling = launch.value("ceiling", json());
      if (ceiling.is_object()) value = ceiling.value("fraction", json());
      const json reason = launch.value("ceiling_reason", json());
      why = reason.is_string() ? "no ceiling: " + reason.get<std::string>()
                               : "the row has no ceiling";
    } else {
      value = launch.at("rates").value(quantity, json());
      why = fmt::format("the row has no {}", quantity);
    }
    if (!value.is_number()) return std::nullopt;
    values.push_back(value);
  }
  return median(values);
}

json absolute_check(const NodeRow& row, const AbsoluteRule& rule) {
  const json limit = rule.at_least ? json(*rule.at_least) : json(*rule.at_most);
  std::string why;
  const std::optional<double> value = quantity_of(row, rule.quantity, why);
  // What cannot be known is not met: a rule that does not evaluate must not pass.
  if (!value) return check(rule.text, nullptr, limit, missing, why);
  if (rule.at_least && !(*value >= *rule.at_least))
    return check(rule.text, *value, *rule.at_least, perf_fail,
                 fmt::format("{} is {:.4g}, below {:.4g}", rule.quantity, *value, *rule.at_least));
  if (rule.at_most && !(*value <= *rule.at_most))
    return check(rule.text, *value, *rule.at_most, perf_fail,
                 fmt::format("{} is {:.4g}, above {:.4g}", rule.quantity, *value, *rule.at_most));
  return check(rule.text, *value, limit, pass, nullptr);
}

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// Where one of `values` stands among the others.
struct Standing {
  std::optional<double> others;     ///< their median
  std::optional<double> deviation;  ///< on logarithms, in 1.4826 of their MAD
};

Standing standing(const std::vector<double>& values, std::size_t index) {
  std::vector<double> others;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i != index) others.push_back(std::log(values[i]));
  Standing made;
  if (others.size() < least_others) return made;
  const double centre = median(others), spread = 1.4826 * mad(others);
  made.others = std::exp(centre);
  if (spread > 0) made.deviation = (std::log(values[index]) - centre) / spread;
  return made;
}

class Acceptance {
 public:
  Acceptance(const Fleet& fleet, const Criteria& criteria) : fleet_(fleet), criteria_(criteria) {}

  json document(const std::string& command) {
    const std::vector<json> stranger = strangers(fleet_);
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const Node& node = fleet_.nodes[i];
      json health = health_of(node, criteria_);
      for (const json& finding : stranger[i]) health["findings"].push_back(finding);
      nodes_.push_back({{"node", node.name},
                        {"verdict", pass},
                        {"reason", nullptr},
                        {"score", nullptr},
                        {"rows", json::array()},
                        {"health", health}});
    }
    for (const std::string& id : fleet_.ids) judge_rows(id);
    for (const auto& [id, row] : fleet_.together) judge_together(id, row);
    judge_fleet();
    json summary = {{"nodes", nodes_.size()}};
    for (const auto& [key, verdict] : {std::pair{"pass", pass},
                                       {"perf_fail", perf_fail},
                                       {"incorrect", incorrect},
                                       {"missing", missing}})
      summary[key] = 0;
    for (json& node : nodes_) {
      conclude(node);
      const std::string verdict = node["verdict"];
      code_ = gravest(code_, code_of(verdict));
      const char* keys[] = {"pass", "perf_fail", "missing", "incorrect"};
      json& count = summary[keys[gravity(verdict)]];
      count = count.get<int>() + 1;
    }
    const json ranked = stragglers();
    json not_judged = json::array();
    for (const auto& [id, why] : fleet_.not_judged)
      not_judged.push_back({{"id", id}, {"reason", why}});
    for (const auto& [id, row] : fleet_.together)
      if (row.status == "unsupported" && !row.required)
        not_judged.push_back({{"id", id}, {"reason", "unsupported: " + row.reason}});
      else if (row.status == "ok" && !floor_of(id))
        not_judged.push_back({{"id", id},
                              {"reason",
                               "several nodes ran it together: its time is none of a node's, and "
                               "no absolute criterion holds for it"}});
    return {{"schema", "assay-acceptance/1"},
            {"command", command},
            {"criteria", {{"name", criteria_.name}, {"file", criteria_.file}}},
            {"nodes", nodes_},
            {"stragglers", ranked},
            {"unmet", unmet_},
            {"unexpected", fleet_.unexpected},
            {"not_judged", not_judged},
            {"summary", summary},
            {"exit_code", static_cast<int>(code_)}};
  }

 private:
  json status_check(const NodeRow& row) {
    const char* const criterion = "present, correct and complete";
    if (row.status == "ok") return check(criterion, nullptr, nullptr, pass, nullptr);
    if (row.status == "incorrect")
      return check(criterion, nullptr, nullptr, incorrect, "incorrect: " + row.reason);
    if (row.status == "failed" || row.status == "timeout" ||
        (row.status == "unsupported" && row.required))
      code_ = gravest(code_, ExitCode::failed);
    return check(criterion, nullptr, nullptr, missing,
                 row.status == "missing" ? row.reason : row.status + ": " + row.reason);
  }

  static json relative_check(const NodeRow& row, const RelativeRule& rule, const Standing& place) {
    const double limit = 1 + rule.slower_at_most;
    if (!place.others)
      return check(rule.text, nullptr, limit, missing,
                   fmt::format("fewer than {} other nodes have a number", least_others));
    const double ratio = row.value / *place.others;
    const double sure = (row.spread ? row.spread->low : row.value) / *place.others;
    if (sure > limit)
      return check(rule.text, ratio, limit, perf_fail,
                   fmt::format("{:.3f} of the other nodes' median time, limit {:g}{}", ratio, limit,
                               row.spread ? fmt::format(" ({:.3f} at least, by its launches)", sure)
                                          : " (one launch)"));
    if (ratio <= limit) return check(rule.text, ratio, limit, pass, nullptr);
    // Over the limit, though perhaps by chance: it fails where it is surely slower than the others,
    // and is undecided where not even that is sure; it never passes.
    const std::string reason = fmt::format(
        "{:.3f} of the other nodes' median time, limit {:g} ({:.3f} to {:.3f} by its "
        "launches)",
        ratio, limit, sure, row.spread->high / *place.others);
    return sure > 1 ? check(rule.text, ratio, limit, perf_fail, reason)
                    : check(rule.text, ratio, limit, missing,
                            "undecided: " + reason + ": run more launches");
  }

  void judge_rows(const std::string& id) {
    std::vector<double> values;
    std::vector<std::size_t> index(fleet_.nodes.size(), 0);
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const NodeRow& row = fleet_.nodes[i].rows.at(id);
      index[i] = values.size();
      if (row.status == "ok" && row.value > 0) values.push_back(row.value);
    }
    for (std::size_t i = 0; i < fleet_.nodes.size(); ++i) {
      const NodeRow& row = fleet_.nodes[i].rows.at(id);
      const bool ok = row.status == "ok" && row.value > 0;
      const Standing place = ok ? standing(values, index[i]) : Standing{};
      json limit, checks = json::array({status_check(row)});
      if (row.status == "ok" && !ok)
        checks[0] = check(checks[0]["criterion"], nullptr, nullptr, missing,
                          "its time is 0: below the clock's resolution");
      for (const RelativeRule& rule : criteria_.relative)
        if (ok && rule.rows.holds(id)) {
          checks.push_back(relative_check(row, rule, place));
          const double own = checks.back()["limit"];
          if (limit.is_null() || own < limit.get<double>()) limit = own;
        }
      for (const AbsoluteRule& rule : criteria_.absolute)
        if (ok && rule.rows.holds(id)) checks.push_back(absolute_check(row, rule));
      const json& worst =
          *std::max_element(checks.begin(), checks.end(), [](const json& a, const json& b) {
            return gravity(a["verdict"]) < gravity(b["verdict"]);
          });
      nodes_[i]["rows"].push_back(
          {{"id", id},
           {"names", row.names},
           {"status", row.status},
           {"value", ok ? json(row.value) : json()},
           {"low", ok && row.spread ? json(row.spread->low) : json()},
           {"high", ok && row.spread ? json(row.spread->high) : json()},
           {"launches", row.launches.size()},
           {"fleet_median", or_null(place.others)},
           {"ratio", place.others ? json(row.value / *place.others) : json()},
           {"deviation", or_null(place.deviation)},
           {"limit", limit},
           {"verdict", worst["verdict"]},
           {"reason", worst["reason"]},
           {"checks", checks}});
    }
  }

  void unmet(const std::string& criterion, const std::string& reason,
             ExitCode code = ExitCode::incomparable) {
    unmet_.push_back({{"criterion", criterion}, {"reason", reason}});
    code_ = gravest(code_, code);
  }

  bool floor_of(const std::string& id) const {
    return std::any_of(criteria_.absolute.begin(), criteria_.absolute.end(),
                       [&](const AbsoluteRule& rule) { return rule.rows.holds(id); });
  }

  /// No node can be blamed for a job of several, and none could be compared with it.
  void judge_together(const std::string& id, const NodeRow& row) {
    std::vector<json> checks{status_check(row)};
    for (const AbsoluteRule& rule : criteria_.absolute)
      if (row.status == "ok" && rule.rows.holds(id)) checks.push_back(absolute_check(row, rule));
    const bool demanded = row.required || row.status != "unsupported";
    for (const json& one : checks)
      if (one["verdict"] != pass && demanded)
        unmet(id, "several nodes together: " + one["reason"].get<std::string>(),
              code_of(one["verdict"]));
  }

  void judge_fleet() {
    if (fleet_.ids.empty() && fleet_.together.empty()) unmet("rows", "no row of any node counts");
    if (criteria_.node_count && fleet_.nodes.size() < *criteria_.node_count)
      unmet(fmt::format("{} nodes", *criteria_.node_count),
            fmt::format("{} have results: {} are missing", fleet_.nodes.size(),
                        *criteria_.node_count - fleet_.nodes.size()));
    if (criteria_.node_count && fleet_.nodes.size() > *criteria_.node_count)
      unmet(fmt::format("{} nodes", *criteria_.node_count),
            fmt::format("{} have results: more than there should be", fleet_.nodes.size()));
    if (!fleet_.unexpected.empty())
      unmet("nodes by name",
            fmt::format("{} has results and is not named{}", fleet_.unexpected[0],
                        fleet_.unexpected.size() > 1
                            ? fmt::format(" (and {} more)", fleet_.unexpected.size() - 1)
                            : ""));
    const auto needs_rows = [&](const RowsRule& rows, const std::string& criterion,
                                bool of_nodes = false) {
      if (std::none_of(fleet_.ids.begin(), fleet_.ids.end(),
                       [&](const std::string& id) { return rows.holds(id); }) &&
          std::none_of(fleet_.together.begin(), fleet_.together.end(),
                       [&](const auto& one) { return !of_nodes && rows.holds(one.first); }))
        unmet(criterion, "it holds for no row: nothing was judged by it");
    };
    for (const RelativeRule& rule : criteria_.relative) needs_rows(rule.rows, rule.text, true);
    for (const AbsoluteRule& rule : criteria_.absolute) needs_rows(rule.rows, rule.text);
    for (const RowsRule& rule : criteria_.include)
      needs_rows(rule, fmt::format("rows that hold {}", rule.text));
  }

  /// Verdict, reason and score from rows and health.
  static void conclude(json& node) {
    std::string verdict = pass;
    json reason;
    std::vector<double> ratios;
    std::size_t count = 0;
    const auto take = [&](const json& one, const std::string& what) {
      const std::string mine = one["verdict"] == "unknown" ? pass : one["verdict"];
      if (gravity(mine) > gravity(verdict)) {
        verdict = mine;
        reason = what + ": " + one["reason"].get<std::string>();
        count = 0;
      }
      if (mine != pass && mine == verdict) ++count;
    };
    for (const json& row : node["rows"]) {
      take(row, row["id"]);
      if (!row["ratio"].is_null()) ratios.push_back(row["ratio"]);
    }
    for (const json& finding : node["health"]["findings"]) take(finding, finding["criterion"]);
    if (node["rows"].empty() ||
        std::all_of(node["rows"].begin(), node["rows"].end(),
                    [](const json& row) { return row["status"] == "missing"; })) {
      verdict = missing;
      reason = "the node has no result";
      count = 1;
    }
    node["verdict"] = verdict;
    if (count > 1) reason = fmt::format("{} (and {} more)", reason.get<std::string>(), count - 1);
    node["reason"] = reason;
    if (!ratios.empty()) node["score"] = median(ratios);
  }

  json stragglers() const {
    std::vector<std::pair<double, std::string>> scored;
    for (const json& node : nodes_)
      if (!node["score"].is_null()) scored.emplace_back(node["score"], node["node"]);
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<double> scores;
    for (const auto& [score, name] : scored) scores.push_back(score);
    json ranked = json::array();
    for (std::size_t i = 0; i < scored.size(); ++i)
      ranked.push_back({{"node", scored[i].second},
                        {"score", scored[i].first},
                        {"rank", i + 1},
                        {"deviation", or_null(standing(scores, i).deviation)}});
    return ranked;
  }

  const Fleet& fleet_;
  const Criteria& criteria_;
  json nodes_ = json::array(), unmet_ = json::array();
  ExitCode code_ = ExitCode::ok;
};

}  // namespace

json acceptance_document(const Fleet& fleet, const Criteria& criteria, const std::string& command) {
  return Acceptance(fleet, criteria).document(command);
}

}  // namespace assay
