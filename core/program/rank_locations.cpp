#include "core/program/rank_locations.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/machine/binding.hpp"

namespace assay {

using nlohmann::json;

namespace {

json or_null(const std::vector<int>& numbers) { return numbers.empty() ? json() : json(numbers); }

}  // namespace

json rank_locations(Communicator& ranks) {
  const Binding binding = binding_of_process();
  const json mine = {{"rank", ranks.rank()},
                     {"host", ranks.host()},
                     {"node", ranks.node()},
                     {"sockets", or_null(binding.sockets)},
                     {"numa_nodes", or_null(binding.numa_nodes)},
                     {"cores", or_null(binding.cores)}};
  json all = json::array();
  for (const std::string& text : ranks.allgather(mine.dump())) all.push_back(json::parse(text));
  return all;
}

void add_ranks(json& environment, Communicator& ranks) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  const auto mine = std::find(hosts.begin(), hosts.end(), ranks.host());
  const bool first_here = mine - hosts.begin() == ranks.rank();
  const std::vector<std::string> all =
      ranks.allgather(first_here && ranks.rank() > 0 ? environment.dump() : "");
  json others = json::array();
  const std::vector<std::string> hashes = ranks.allgather(environment.at("hashes").dump());
  const json reference = json::parse(hashes.front());
  for (const std::string& text : all) {
    if (text.empty()) continue;
    json other = json::parse(text);
    for (const char* part : {"hardware", "software"})
      if (other.at("hashes").at(part) == reference.at(part)) other.erase(part);
    others.push_back(std::move(other));
  }
  environment["rank_hosts"] = hosts;
  environment["rank_places"] = rank_locations(ranks);
  environment["other_hosts"] = std::move(others);
}

int ranks_here(Communicator& ranks) {
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  return static_cast<int>(std::count(hosts.begin(), hosts.end(), ranks.host()));
}

}  // namespace assay
