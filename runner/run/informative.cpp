#include "runner/run/informative.hpp"

#include <map>
#include <string>
#include <utility>

namespace assay {

std::vector<std::size_t> informative_order(const std::vector<Case>& cases) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> having;
  std::vector<std::size_t> fresh(cases.size());  // number of settings of each case that were not
                                                 // covered before
  for (std::size_t i = 0; i < cases.size(); ++i) {
    fresh[i] = cases[i].settings.size();
    for (const auto& setting : cases[i].settings) having[setting].push_back(i);
  }
  std::vector<std::size_t> order;
  std::vector<bool> taken(cases.size(), false);
  while (order.size() < cases.size()) {
    std::size_t best = cases.size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (taken[i]) continue;
      const auto rank = [&](std::size_t which) {
        return std::pair(fresh[which], cases[which].required);
      };
      if (best == cases.size() || rank(i) > rank(best)) best = i;
    }
    taken[best] = true;
    order.push_back(best);
    for (const auto& setting : cases[best].settings) {
      std::vector<std::size_t>& those = having[setting];
      for (const std::size_t i : those) --fresh[i];
      those.clear();
    }
  }
  return order;
}

}  // namespace assay
