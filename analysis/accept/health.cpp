#include <fmt/format.h>

#include <algorithm>

#include "analysis/accept/acceptance.hpp"

namespace assay {

using nlohmann::json;

namespace {

json finding(const std::string& criterion, const json& value, const json& limit,
             const char* verdict, const json& reason) {
  return {{"criterion", criterion},
          {"value", value},
          {"limit", limit},
          {"verdict", verdict},
          {"reason", reason}};
}

std::optional<double> known(const json& state, const json::json_pointer& quantity) {
  if (!state.is_object() || !state.contains(quantity) || !state.at(quantity).is_number())
    return std::nullopt;
  return state.at(quantity).get<double>();
}

class HealthCheck {
 public:
  HealthCheck(const HealthRule& rule, json& health) : rule_(rule), findings_(health["findings"]) {
    const auto before = known(health["before"], rule.quantity),
               after = known(health["after"], rule.quantity);
    for (const auto& [wanted, value, when] :
         {std::tuple{rule.before, before, "before"}, {rule.after, after, "after"}}) {
      if (wanted && rule.at_least)
        judge(fmt::format("{} {} at least {:g}", rule.text, when, *rule.at_least), value,
              *rule.at_least, false);
      if (wanted && rule.at_most)
        judge(fmt::format("{} {} at most {:g}", rule.text, when, *rule.at_most), value,
              *rule.at_most, true);
    }
    if (rule.grows_at_most)
      judge(fmt::format("{} grows at most {:g}", rule.text, *rule.grows_at_most),
            before && after ? std::optional(*after - *before) : std::nullopt, *rule.grows_at_most,
            true);
  }

 private:
  void judge(const std::string& criterion, const std::optional<double>& value, double limit,
             bool at_most) {
    if (!value)
      findings_.push_back(finding(criterion, nullptr, limit, rule_.required ? "MISSING" : "unknown",
                                  "the machine does not tell it (null or absent)"));
    else if (at_most ? *value <= limit : *value >= limit)
      findings_.push_back(finding(criterion, *value, limit, "PASS", nullptr));
    else
      findings_.push_back(
          finding(criterion, *value, limit, "PERF-FAIL", fmt::format("it is {:g}", *value)));
  }

  const HealthRule& rule_;
  json& findings_;
};

std::string difference(const json& common, const json& own) {
  const json left = common.flatten(), right = own.flatten();
  for (const auto& [key, value] : left.items()) {
    const json here = right.value(key, json());
    if (here != value) return fmt::format("{}: {}, elsewhere {}", key, here.dump(), value.dump());
  }
  for (const auto& [key, value] : right.items())
    if (!left.contains(key)) return fmt::format("{}: {}, elsewhere nothing", key, value.dump());
  return "the hashes differ";
}

}  // namespace

json health_of(const Node& node, const Criteria& criteria) {
  json health = {{"before", nullptr}, {"after", nullptr}, {"findings", json::array()}};
  // Of a node without results nothing else is worth saying.
  if (node.environments.empty()) return health;
  health["before"] = node.environments.front().at("volatile");
  for (const json& environment : node.environments)
    if (environment.value("volatile_after", json()).is_object())
      health["after"] = environment["volatile_after"];
  for (const HealthRule& rule : criteria.health) HealthCheck(rule, health);
  return health;
}

namespace {

/// The distinct hashes of a node's environments: a suite's processes load other plugins than
/// another's, so that a node has several.
std::map<std::string, const json*> hashes_of(const Node& node, const char* part) {
  std::map<std::string, const json*> hashes;
  for (const json& environment : node.environments)
    hashes.try_emplace(environment.at("hashes").at(part).dump(), &environment.at(part));
  return hashes;
}

std::string key_of(const std::map<std::string, const json*>& hashes) {
  std::string key;
  for (const auto& [hash, part] : hashes) key += hash;
  return key;
}

}  // namespace

std::vector<json> strangers(const Fleet& fleet) {
  std::vector<json> findings(fleet.nodes.size(), json::array());
  for (const char* part : {"hardware", "software"}) {
    // By nodes, not by processes; of equally many the first.
    std::map<std::string, std::size_t> count;
    std::map<std::string, const json*> most;
    for (const Node& node : fleet.nodes) {
      const auto hashes = hashes_of(node, part);
      if (!hashes.empty() && ++count[key_of(hashes)] > (most.empty() ? 0 : count[key_of(most)]))
        most = hashes;
    }
    for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
      const auto hashes = hashes_of(fleet.nodes[i], part);
      if (hashes.empty()) continue;
      const std::string criterion = fmt::format("{} as the fleet's", part);
      if (hashes.contains("null")) {
        findings[i].push_back(finding(criterion, nullptr, nullptr, "unknown", "it has no hash"));
        continue;
      }
      if (key_of(hashes) == key_of(most)) continue;
      // One that the others do not have, or one of theirs that it lacks.
      std::string why = "processes of another kind are missing (run the same suites on all nodes)";
      for (const auto& [hash, its] : hashes)
        if (!most.contains(hash)) why = difference(*most.begin()->second, *its);
      findings[i].push_back(
          finding(criterion, nullptr, nullptr, "MISSING", "not comparable: " + why));
    }
  }
  return findings;
}

}  // namespace assay
