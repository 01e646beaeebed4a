#include "analysis/scaling/control_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay::scaling {
namespace {

int radix_of(const std::string& way, int ranks) {
  if (way == "flat") return std::max(1, ranks - 1);
  if (!way.starts_with("tree:"))
    throw InputError(fmt::format("control {}: expected flat, or tree:R", way));
  return static_cast<int>(whole_number("control " + way, way.substr(5), 2, 1024));
}

}  // namespace

ControlCost control_cost(const std::string& way, int ranks, const Network& network) {
  const int radix = radix_of(way, ranks);
  const auto parent = [&](int rank) { return (rank - 1) / radix; };
  const auto alpha = [&](int rank) {
    return network.levels[crossing(network, rank, parent(rank))].alpha;
  };
  const auto count = static_cast<std::size_t>(ranks);
  // A tensor is reported once and decided once over each edge of the tree.
  std::vector<double> messages(count), busy(count), reported(count), told(count), telling(count);
  for (int rank = 1; rank < ranks; ++rank)
    for (const int end : {rank, parent(rank)}) {
      messages[static_cast<std::size_t>(end)] += 2;
      busy[static_cast<std::size_t>(end)] += 2 * alpha(rank);
    }
  // Children have larger numbers than their parent. It handles their reports one after the other.
  for (int rank = ranks - 1; rank > 0; --rank) {
    double& at = reported[static_cast<std::size_t>(parent(rank))];
    at = std::max(at, reported[static_cast<std::size_t>(rank)] + alpha(rank)) + alpha(rank);
  }
  double last = reported[0];
  told[0] = telling[0] = reported[0];
  for (int rank = 1; rank < ranks; ++rank) {
    double& sent = telling[static_cast<std::size_t>(parent(rank))];
    sent += alpha(rank);
    const auto at = static_cast<std::size_t>(rank);
    told[at] = telling[at] = sent + alpha(rank);
    last = std::max(last, told[at]);
  }
  return {*std::ranges::max_element(messages), *std::ranges::max_element(busy), last};
}

}  // namespace assay::scaling
