#include "runner/ensemble/search_space.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "core/api/random.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/programs.hpp"

namespace assay {

using nlohmann::json;
using Draw = std::map<std::string, std::string>;

namespace {

constexpr const char* search_key = "search";
/// Keys of a training that the ensemble itself sets, and keys that all members must share.
constexpr const char* set_by_ensemble[] = {"checkpoint", "restart", "unreached"};
constexpr const char* same_for_all[] = {"epochs", "target", "threads", "device"};

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The single value of a key; nothing if the group lacks it.
std::optional<std::string> only_value(const json& group, const char* key, const std::string& at) {
  const auto entry = group.find(key);
  if (entry == group.end()) return std::nullopt;
  if (entry->is_array() && entry->size() != 1)
    throw InputError(fmt::format("{}/{}: found {} values, expected one for all members. Give one.",
                                 at, key, entry->size()));
  return value_text(entry->is_array() ? entry->front() : *entry);
}

void refuse_keys(const SearchGroup& group, const std::string& at) {
  for (const char* key : set_by_ensemble)
    for (const auto& [where, object] : {std::pair{at, &group.base}, {at + "/search", &group.space}})
      if (object->contains(key))
        throw InputError(
            fmt::format("{}/{}: --ensemble sets it for each member. Leave it out.", where, key));
  for (const char* key : same_for_all)
    if (group.space.contains(key))
      throw InputError(fmt::format(
          "{}/search/{}: members are compared with one value of it. Give it in the group.", at,
          key));
  for (const auto& [key, values] : group.space.items()) {
    if (group.base.contains(key))
      throw InputError(
          fmt::format("{0}/search/{1}: the group gives {1}, too. Leave one of them out.", at, key));
    if (values.is_array()) continue;
    for (const auto& [form, ends] : values.items())
      if (!(ends[0] < ends[1]) || (form == "log_uniform" && !(ends[0] > 0)))
        throw InputError(fmt::format("{}/search/{}/{}: found {}, expected [low, high]{}.", at, key,
                                     form, ends.dump(), form == "log_uniform" ? " above 0" : ""));
  }
}

/// Adds the folder of the suite to problem lists beside it, because the suites of members are in
/// another folder.
void find_beside_suite(json& problem, const std::filesystem::path& folder) {
  for (json& text : problem.is_array() ? problem : problem = json::array({problem}))
    if (text.is_string() && is_beside_suite(text.get<std::string>()))
      text = (folder / text.get<std::string>()).string();
}

/// Uniform in (0, 1).
double uniform(std::uint64_t seed, const std::string& name, int member) {
  constexpr int bits = 32;
  const Values values(Values::Kind::fixed, seed, "ensemble " + name, DataType::fp64, bits);
  return (values(member) + 1) / 2;
}

std::string draw_value(const json& values, double at) {
  if (values.is_array())
    return value_text(values[static_cast<std::size_t>(at * static_cast<double>(values.size()))]);
  const std::string form = values.begin().key();
  const double low = values.begin().value()[0], high = values.begin().value()[1];
  return fmt::format(
      "{:.4g}", form == "log_uniform" ? low * std::pow(high / low, at) : low + at * (high - low));
}

}  // namespace

SearchGroup search_group(const json& suite, const std::string& file) {
  SearchGroup group;
  std::string at;
  std::size_t index = 0;
  for (const json& each : suite.at("cases")) {
    const std::string pointer = fmt::format("{} at /cases/{}", file, index++);
    if (!each.contains(search_key)) continue;
    if (!at.empty())
      throw InputError(pointer +
                       "/search: another group has a search space, too (an ensemble has one). "
                       "Leave one of them out.");
    at = pointer;
    group = {each.at("benchmark"), each, each.at(search_key), 0, 1};
  }
  if (at.empty())
    throw InputError(fmt::format(
        "{} has no search space. Add the key \"search\" to the group of a training, like "
        "{{\"rate\": {{\"log_uniform\": [0.001, 1]}}, \"batch\": [16, 32]}}.",
        file));
  group.base.erase(search_key);
  refuse_keys(group, at);
  for (json* const values : {&group.base, &group.space})
    if (const auto problem = values->find("problem"); problem != values->end())
      find_beside_suite(*problem, std::filesystem::absolute(file).parent_path());
  constexpr std::uint64_t most = 1 << 30;
  group.epochs = static_cast<std::int64_t>(
      whole_number(at + "/epochs", only_value(group.base, "epochs", at).value_or("0"), 1, most));
  const std::string threads = only_value(group.base, "threads", at).value_or("1");
  group.threads = static_cast<int>(whole_number(at + "/threads", threads, 1, most));
  group.base["threads"] = threads;
  only_value(group.base, "target", at);
  if (const auto device = only_value(group.base, "device", at).value_or("cpu"); device != "cpu")
    throw InputError(fmt::format(
        "{}/device: unsupported: members on a GPU (slots are cores). Use the device cpu.", at));
  if (suite.contains("launch"))
    throw InputError(file + " at /launch: unsupported: members of several ranks. Leave it out.");
  return group;
}

std::vector<Draw> draw_members(const json& space, int count, std::uint64_t seed) {
  std::vector<Draw> draws(static_cast<std::size_t>(count));
  for (int member = 0; member < count; ++member)
    for (const auto& [name, values] : space.items())
      draws[static_cast<std::size_t>(member)][name] =
          draw_value(values, uniform(seed, name, member));
  return draws;
}

std::vector<std::int64_t> rung_budgets(const std::string& search, int factor, int members,
                                       std::int64_t epochs) {
  std::vector<std::int64_t> budgets{epochs};
  if (search != "halving") return budgets;
  for (int left = members / factor; left >= 1 && budgets.front() / factor >= 1; left /= factor)
    budgets.insert(budgets.begin(), budgets.front() / factor);
  return budgets;
}

json member_group(const SearchGroup& group, const Draw& draw, const MemberTraining& training) {
  json member = group.base;
  for (const auto& [name, value] : draw) member[name] = json::array({value});
  member["epochs"] = json::array({training.epochs});
  member["unreached"] = "kept";  // its quality counts even if it does not reach the target
  if (!training.checkpoint.empty()) {
    member["checkpoint"] = training.checkpoint;
    member["restart"] = training.restart ? "yes" : "no";
  }
  return member;
}

json make_suite(const json& suite, json groups) {
  json member_suite = {{"schema", "assay-suite/1"},
                       {"name", suite.at("name")},
                       {"ceilings", false},
                       {"cases", std::move(groups)}};
  if (suite.contains("timing")) member_suite["timing"] = suite["timing"];
  return member_suite;
}

void check_space(const std::filesystem::path& file, const std::filesystem::path& executable) {
  const Temporary scratch = make_scratch_folder();
  read_listing(executable, file, {}, scratch.path() / "suite", std::chrono::minutes(1));
}

CanonicalMembers canonical_members(const json& suite, const SearchGroup& group,
                                   const std::vector<Draw>& draws,
                                   const std::filesystem::path& executable,
                                   const std::vector<std::int64_t>& budgets) {
  const bool halving = budgets.size() > 1;
  json groups = json::array();
  std::map<Draw, std::string> notes;  // one for equal members, because equal cases become one
  for (const Draw& draw : draws) {
    const auto [note, fresh] = notes.emplace(draw, fmt::format("{}", notes.size()));
    if (!fresh) continue;
    groups.push_back(member_group(group, draw, {group.epochs}));
    groups.back()["note"] = note->second;
  }
  const Temporary scratch = make_scratch_folder();
  const std::filesystem::path file = scratch.path() / "members.json";
  write_json(file, make_suite(suite, groups));
  const Listing listing =
      read_listing(executable, file, {}, scratch.path() / "list", std::chrono::minutes(1));
  std::map<std::string, const Case*> cases;  // by note
  for (const Case& member : listing.cases) {
    if (!cases.emplace(member.note, &member).second)
      throw InputError(fmt::format(
          "a member would be several cases ({} and {}). Move the values of the group into "
          "\"search\".",
          cases.at(member.note)->id, member.id));
    const std::string schedule =
        member.settings.contains("schedule") ? member.settings.at("schedule") : "";
    const auto warmup = member.settings.find("warmup");
    if (warmup != member.settings.end() &&
        parse_number(warmup->second).value_or(0) >= static_cast<double>(budgets.front()))
      throw InputError(
          fmt::format("a member has a warm-up of {} epochs, but the first rung trains {} (an epoch "
                      "must follow the "
                      "warm-up). Give more epochs, fewer members, or a shorter warm-up.",
                      warmup->second, budgets.front()));
    if (halving && (schedule.starts_with("cosine") || schedule.starts_with("poly")))
      throw InputError(fmt::format(
          "--search halving: the schedule {} depends on the number of epochs (a member that goes "
          "on would have learnt at other rates). Use constant or step in the suite.",
          schedule));
  }
  CanonicalMembers canonical{draws, 0};
  for (Draw& draw : canonical.draws) {
    const auto entry = cases.find(notes.at(draw));
    if (entry == cases.end()) continue;  // another text of the same values has the case
    for (auto& [name, value] : draw)
      if (const auto own = entry->second->settings.find(name); own != entry->second->settings.end())
        value = own->second;
    const auto target = entry->second->settings.find("target");
    if (target == entry->second->settings.end())
      throw InputError(fmt::format("{} trains to no target: it has no ensembles.",
                                   executable.filename().string()));
    canonical.target = number_between("--target", target->second, 0, 1);
  }
  return canonical;
}

}  // namespace assay
