#include "core/program/rank_locations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "core/machine/binding.hpp"
#include "core/measure/agreement.hpp"

namespace assay {

using nlohmann::json;

namespace {

json or_null(const std::vector<int>& numbers) { return numbers.empty() ? json() : json(numbers); }

json read_binaries(const json& environment) {
  return environment.value("software", json::object()).value("binaries", json::object());
}

/// For each binary, the hosts that loaded another build than `environment` says, with that build. A
/// binary that only some hosts have loaded is no difference: nodes may have other network cards.
std::map<std::string, std::map<std::string, std::string>> other_builds(const json& environment) {
  const json own = read_binaries(environment);
  std::map<std::string, std::map<std::string, std::string>> others_builds;
  const json others = environment.value("other_hosts", json::array());
  for (const json& other : others) {
    const json its = read_binaries(other);
    for (const auto& [name, build] : its.items())
      if (own.contains(name) && own[name] != build) others_builds[name][other.at("host")] = build;
  }
  return others_builds;
}

void merge_binaries(json& environment) {
  const auto mixed = other_builds(environment);
  if (mixed.empty()) return;
  for (const auto& [name, hosts] : mixed) {
    json& own = environment["software"]["binaries"][name];
    std::set<std::string> builds{own.get<std::string>()};
    for (const auto& [host, build] : hosts) builds.insert(build);
    own = join(std::vector(builds.begin(), builds.end()), ", ");
  }
  environment["hashes"]["software"] = content_hash("software", environment.at("software"));
}

}  // namespace

json rank_locations(Communicator& ranks) {
  const Binding binding = binding_of_process();
  const json mine = {{"rank", ranks.rank()},
                     {"host", ranks.host()},
                     {"node", ranks.node()},
                     {"sockets", or_null(binding.sockets)},
                     {"numa_nodes", or_null(binding.numa_nodes)},
                     {"cores", or_null(binding.cores)}};
  return allgather_json(mine, ranks);
}

void add_ranks(json& environment, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  const auto mine = std::find(hosts.begin(), hosts.end(), ranks.host());
  const bool first_here = mine - hosts.begin() == ranks.rank();
  json others = json::array();
  const json reference = allgather_json(environment.at("hashes"), ranks).front();
  for (json& other : allgather_json(first_here && ranks.rank() > 0 ? environment : json(), ranks)) {
    if (other.is_null()) continue;
    for (const char* part : {"hardware", "software"})
      if (other.at("hashes").at(part) == reference.at(part)) other.erase(part);
    others.push_back(std::move(other));
  }
  environment["rank_hosts"] = hosts;
  environment["rank_places"] = rank_locations(ranks);
  environment["other_hosts"] = std::move(others);
  merge_binaries(environment);
}

std::string describe_mixed_binaries(const json& environment) {
  constexpr std::size_t most = 3;
  std::vector<std::string> texts;
  const auto builds = other_builds(environment);
  for (const auto& [name, hosts] : builds)
    if (texts.size() < most)
      texts.push_back(fmt::format("{}: {}, of which {} has {}", name,
                                  read_binaries(environment)[name].get<std::string>(),
                                  hosts.begin()->first, hosts.begin()->second));
  if (builds.size() > most) texts.push_back(fmt::format("{} more", builds.size() - most));
  return join(texts, "; ");
}

int ranks_here(Communicator& ranks) {
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  return static_cast<int>(std::count(hosts.begin(), hosts.end(), ranks.host()));
}

}  // namespace assay
