#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/accept/acceptance.hpp"
#include "analysis/accept/checks.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// A number, or a boolean as 0 or 1.
std::optional<double> known(const json& state, const json::json_pointer& quantity) {
  if (!state.is_object() || !state.contains(quantity)) return std::nullopt;
  const json& value = state.at(quantity);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool may_have_limits(const json& value) {
  return value.is_number() || value.is_boolean() || value.is_null();
}

class HealthCheck {
 public:
  HealthCheck(const HealthRule& rule, json& health) : rule_(rule), findings_(health["findings"]) {
    const auto before = known(health["before"], rule.quantity),
               after = known(health["after"], rule.quantity);
    for (const auto& [wanted, value, when] :
         {std::tuple{rule.before, before, "before"}, {rule.after, after, "after"}}) {
      if (wanted && rule.at_least)
        judge(fmt::format("{} {} the run at least {:g}", rule.text, when, *rule.at_least), value,
              *rule.at_least, false);
      if (wanted && rule.at_most)
        judge(fmt::format("{} {} the run at most {:g}", rule.text, when, *rule.at_most), value,
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
      findings_.push_back(check(criterion, nullptr, limit,
                                rule_.required ? verdict::missing : verdict::unknown,
                                "the machine does not report it (null or absent)"));
    else if (at_most ? *value <= limit : *value >= limit)
      findings_.push_back(check(criterion, *value, limit, verdict::pass, nullptr));
    else
      findings_.push_back(
          check(criterion, *value, limit, rule_.of_noise ? verdict::not_quiet : verdict::perf_fail,
                fmt::format("found {:.3g}{}", *value,
                            rule_.of_noise ? "; measure again when nothing else runs there" : "")));
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
    if (!left.contains(key)) return fmt::format("{}: {}, elsewhere absent", key, value.dump());
  return "the hashes differ";
}

}  // namespace

namespace {

/// The part of the allowed processors whose time the cgroup grants; null where it is unknown.
json processor_share(const json& state) {
  const json allowed = state.value("processors_allowed", json());
  if (!allowed.is_array() || allowed.empty() || !state.contains("processor_quota")) return nullptr;
  const json& quota = state.at("processor_quota");
  return quota.is_number() ? std::min(1.0, quota.get<double>() / allowed.size()) : 1.0;
}

/// The state with "load_per_core" (a load that is negligible for 128 cores fills a machine of two)
/// and "processor_share". null where a part of them is unknown.
json with_shares(json state, const json& environment) {
  if (!state.is_object() || state.empty()) return state;
  state["processor_share"] = processor_share(state);
  const json load = state.value("load", json()),
             cores = environment.value("hardware", json::object()).value("cores", json());
  json& each = state["load_per_core"] = nullptr;
  if (!load.is_array() || !cores.is_number() || !(cores > 0)) return state;
  each = json::array();
  for (const json& average : load)
    each.push_back(average.is_number() ? json(average.get<double>() / cores.get<double>())
                                       : json());
  return state;
}

}  // namespace

json present_state() { return with_shares(capture_volatile(), {{"hardware", {{"cores", 1}}}}); }

bool names_a_state(const HealthRule& rule, const std::vector<const json*>& states,
                   const std::string& where) {
  const std::string quantity = rule.quantity.to_string();
  bool unknown = false, lacking = false;
  std::set<std::string> names;
  const json* other = nullptr;
  for (const json* state : states) {
    json::json_pointer place = rule.quantity;
    while (!place.empty() && !state->contains(place)) place = place.parent_pointer();
    const json& value = state->at(place);
    if (place == rule.quantity) {
      if (may_have_limits(value)) return true;
      other = &value;
    } else if (value.is_null()) {
      unknown = true;  // a part that the machine does not report
    } else {
      lacking |= !place.empty();
    }
    const json flat = state->flatten();
    for (const auto& [name, part] : flat.items())
      if (may_have_limits(part)) names.insert(name);
  }
  if (other != nullptr)
    throw InputError(fmt::format("{}: {} is {} {} (limits are of numbers and booleans). Name one.",
                                 where, quantity, other->is_string() ? "a" : "an",
                                 other->type_name()));
  if (unknown && !lacking) return true;
  if (rule.optional) return false;
  const std::vector<std::string> valid(names.begin(), names.end());
  throw InputError(
      fmt::format("{}: {} No node reports it: correct it, or mark it \"optional\": true.", where,
                  unknown_name("quantity", quantity, valid)));
}

json health_of(const Node& node, const Criteria& criteria) {
  json health = {{"before", nullptr}, {"after", nullptr}, {"findings", json::array()}};
  // A node without results needs no further findings.
  if (node.environments.empty()) return health;
  const json& first = node.environments.front();
  health["before"] = with_shares(first.at("volatile"), first);
  for (const json& environment : node.environments)
    if (environment.value("volatile_after", json()).is_object())
      health["after"] = with_shares(environment["volatile_after"], environment);
  for (const HealthRule& rule : criteria.health) HealthCheck(rule, health);
  return health;
}

namespace {

/// The distinct hashes of the environments of a node. Processes of different suites load different
/// plugins, so a node may have several.
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

std::vector<json> differences_from_fleet(const Fleet& fleet) {
  std::vector<json> findings(fleet.nodes.size(), json::array());
  for (const char* part : {"hardware", "software"}) {
    // Counted by nodes, not by processes; among equal counts the first.
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
      const std::string criterion = fmt::format("{} equal to the fleet's", part);
      if (hashes.contains("null")) {
        findings[i].push_back(
            check(criterion, nullptr, nullptr, verdict::unknown, "its environment has no hash"));
        continue;
      }
      if (key_of(hashes) == key_of(most)) continue;
      // An environment that the others do not have, or one of theirs that the node does not have.
      std::string why =
          "environments of some suites are missing (run the same suites on all nodes)";
      for (const auto& [hash, its] : hashes)
        if (!most.contains(hash)) why = difference(*most.begin()->second, *its);
      findings[i].push_back(
          check(criterion, nullptr, nullptr, verdict::missing, "not comparable: " + why));
    }
  }
  return findings;
}

}  // namespace assay
