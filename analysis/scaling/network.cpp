#include "analysis/scaling/network.hpp"

#include <algorithm>
#include <map>

namespace assay::scaling {

int find_group(const Network& network, int rank, std::size_t level) {
  return level + 1 == network.levels.size() ? 0 : rank / network.levels[level].ranks;
}

std::size_t crossing(const Network& network, int a, int b) {
  std::size_t level = 0;
  while (find_group(network, a, level) != find_group(network, b, level)) ++level;
  return level;
}

std::vector<Link> list_links(const Network& network, int ranks,
                             const std::function<int(int)>& receiver) {
  // A message that crosses a level leaves its sender's groups on all inner levels.
  std::vector<std::map<int, int>> leaving(network.levels.size());
  const auto sends = [&](int rank) { return receiver(rank) >= 0 && receiver(rank) != rank; };
  for (int rank = 0; rank < ranks; ++rank) {
    if (!sends(rank)) continue;
    const std::size_t crossed = crossing(network, rank, receiver(rank));
    for (std::size_t level = 1; level <= crossed; ++level)
      ++leaving[level][find_group(network, rank, level - 1)];
  }
  std::map<std::size_t, Link> slowest;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!sends(rank)) continue;
    const std::size_t crossed = crossing(network, rank, receiver(rank));
    Link& link = slowest[crossed];
    link.alpha = network.levels[crossed].alpha;
    link.beta = std::max(link.beta, network.levels[0].beta);
    for (std::size_t level = 1; level <= crossed; ++level) {
      const Level& at = network.levels[level];
      const double sharing = leaving[level][find_group(network, rank, level - 1)] / at.links;
      link.beta = std::max(link.beta, at.beta);
      link.shared = std::max(link.shared, at.beta * sharing);
    }
  }
  std::vector<Link> links;
  for (const auto& [level, link] : slowest) links.push_back(link);
  return links;
}

}  // namespace assay::scaling
