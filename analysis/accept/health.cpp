#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/accept/acceptance.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

using enum NodeVerdict;

/// A number, or a boolean as 0 or 1.
std::optional<double> read_number(const json& state, const json::json_pointer& quantity) {
  if (!state.is_object() || !state.contains(quantity)) return std::nullopt;
  const json& value = state.at(quantity);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool may_have_limits(const json& value) {
  return value.is_number() || value.is_boolean() || value.is_null();
}

Check check_state(const HealthRule& rule, const StateLimit& limit, const Health& health) {
  const auto before = read_number(health.before, rule.quantity),
             after = read_number(health.after, rule.quantity);
  std::optional<double> value = limit.when == StateLimit::Moment::before ? before : after;
  if (limit.when == StateLimit::Moment::growth && value)
    value = before ? std::optional(*after - *before) : std::nullopt;
  if (!value)
    return {limit.criterion, std::nullopt, limit.limit, rule.required ? missing : unknown,
            "the machine does not report it (null or absent)"};
  if (limit.at_most ? *value <= limit.limit : *value >= limit.limit)
    return {limit.criterion, value, limit.limit};
  return {limit.criterion, value, limit.limit, rule.from_noise ? not_quiet : perf_fail,
          fmt::format("found {:.3g}{}", *value,
                      rule.from_noise ? "; measure again when nothing else runs there" : "")};
}

/// Checks a limit that each device must meet in each row that it measured. A quantity that a device
/// does not report is missing, not met. Returns nothing if the quantity is optional and no device
/// reports it.
std::optional<Check> check_devices(const DeviceRule& rule, const Node& node) {
  const double limit = rule.at_most.value_or(rule.at_least.value_or(0));
  std::optional<Check> check;
  if (!rule.optional)
    check = Check{rule.text, std::nullopt, limit, missing, "no row has it of a device"};
  for (const auto& [device, ranges] : node.devices) {
    const auto range = ranges.find(rule.quantity);
    if (range == ranges.end()) {
      if (rule.optional) continue;
      return Check{rule.text, std::nullopt, limit, missing, device + " does not tell it"};
    }
    const auto [low, high] = range->second;
    const bool above = rule.at_most && high > *rule.at_most;
    const bool below = rule.at_least && low < *rule.at_least;
    if (above || below)
      return Check{rule.text, above ? high : low, above ? *rule.at_most : *rule.at_least, perf_fail,
                   fmt::format("{}: found {:.6g}", device, above ? high : low)};
    check = Check{rule.text, rule.at_most ? high : low, limit};
  }
  return check;
}

/// The fraction of the allowed processors whose time the cgroup grants; null if it is unknown.
json processor_share(const json& state) {
  const auto allowed = state.find("processors_allowed"), quota = state.find("processor_quota");
  if (allowed == state.end() || !allowed->is_array() || allowed->empty() || quota == state.end())
    return nullptr;
  return quota->is_number() ? std::min(1.0, quota->get<double>() / allowed->size()) : 1.0;
}

/// The load for each core; null if a part of it is unknown.
json load_per_core(const json& state, const json& hardware) {
  const auto load = state.find("load"), cores = hardware.find("cores");
  if (load == state.end() || !load->is_array() || cores == hardware.end() || !cores->is_number() ||
      !(*cores > 0))
    return nullptr;
  json each = json::array();
  for (const json& average : *load)
    each.push_back(average.is_number() ? json(average.get<double>() / cores->get<double>())
                                       : json());
  return each;
}

/// The state with two additions: "load_per_core", because a load that is negligible for 128 cores
/// fills a machine with two, and "processor_share".
json with_shares(json state, const json& hardware) {
  if (!state.is_object() || state.empty()) return state;
  state.update({{"processor_share", processor_share(state)},
                {"load_per_core", load_per_core(state, hardware)}});
  return state;
}

}  // namespace

json present_state() { return with_shares(capture_volatile(), {{"cores", 1}}); }

void add_health(const RowDeviceHealth& health, DeviceRanges& ranges) {
  const auto add = [&](const std::string& name, double value) {
    const auto [range, added] = ranges.try_emplace(name, Interval{value, value});
    range->second.low = std::min(range->second.low, value);
    range->second.high = std::max(range->second.high, value);
  };
  const auto sum = [&](const std::map<std::string, double>& counters) {
    double all = 0;
    for (const auto& [name, count] : counters) all += count;
    return all;
  };
  for (const auto* part : {&health.values, &health.errors, &health.corrected})
    for (const auto& [name, value] : *part) add(name, value);
  // A device that counts nothing has no sum, because 0 would mean that it has no errors.
  if (!health.errors.empty()) add("errors", sum(health.errors));
  if (health.corrected.empty()) return;
  add("corrected", sum(health.corrected));
  add("corrected_meanwhile", sum(health.corrected_meanwhile));
}

bool is_state_name(const HealthRule& rule, const std::vector<const json*>& states,
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
                  explain_unknown_name("quantity", quantity, valid)));
}

Health judge_health(const Node& node, const Criteria& criteria) {
  Health health;
  // A node without results needs no further findings.
  if (node.environments.empty()) return health;
  const ResultEnvironment& first = node.environments.front();
  health.before = with_shares(first.volatile_before, first.hardware);
  for (const ResultEnvironment& environment : node.environments)
    if (environment.volatile_after.is_object())
      health.after = with_shares(environment.volatile_after, environment.hardware);
  for (const HealthRule& rule : criteria.health)
    for (const StateLimit& limit : rule.limits)
      health.findings.push_back(check_state(rule, limit, health));
  for (const DeviceRule& rule : criteria.devices)
    if (std::optional<Check> check = check_devices(rule, node))
      health.findings.push_back(std::move(*check));
  return health;
}

}  // namespace assay
