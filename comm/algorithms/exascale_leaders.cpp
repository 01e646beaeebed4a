#include "comm/algorithms/exascale_leaders.hpp"

#include <map>

#include "core/machine/binding.hpp"
#include "core/measure/agreement.hpp"

namespace assay {

namespace {

int own_socket() {
  const std::vector<int> sockets = binding_of_process().sockets;
  return sockets.size() == 1 ? sockets.front() : -1;
}

}  // namespace

std::vector<int> find_sockets(Communicator& node) {
  const std::vector<double> sockets = allgather_numbers(own_socket(), node);
  return {sockets.begin(), sockets.end()};
}

std::vector<int> exascale_leaders(const std::vector<int>& sockets) {
  std::map<int, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < sockets.size(); ++rank)
    if (sockets[rank] >= 0) ranks[sockets[rank]].push_back(static_cast<int>(rank));
  std::vector<int> chosen;
  for (const auto& [socket, all] : ranks)
    if (all.size() >= 2 && chosen.size() < 4) chosen.insert(chosen.end(), {all[0], all[1]});
  if (chosen.size() == 4) return chosen;
  const int half = static_cast<int>(sockets.size()) / 2;
  return {0, 1, half, half + 1};
}

}  // namespace assay
