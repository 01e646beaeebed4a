#include "core/measure/shared_contention.hpp"

#include <unistd.h>

#include <cmath>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/measure/agreement.hpp"

namespace assay {

namespace {

/// The processors that ranks on the host of this rank may use.
std::set<int> find_allowed_on_host(const std::set<int>& mine, const std::vector<std::string>& hosts,
                                   Communicator& ranks) {
  const auto lists = allgather_lists(std::vector(mine.begin(), mine.end()), ranks);
  std::set<int> all;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != ranks.host()) continue;
    if (lists[rank].empty()) return {};
    all.insert(lists[rank].begin(), lists[rank].end());
  }
  return all;
}

}  // namespace

std::optional<double> worst(const std::optional<double>& mine, Communicator& ranks) {
  double value = mine.value_or(-1);
  ranks.allreduce_max(std::span(&value, 1));
  return value < 0 ? std::nullopt : std::optional(value);
}

void share(Contention& averages, Communicator& ranks, double processors) {
  const std::vector<std::string> hosts = ranks.allgather(ranks.host());
  // Work on a processor that no rank may use does not disturb the ranks.
  if (const std::set<int> allowed = find_allowed_on_host(averages.allowed, hosts, ranks);
      !allowed.empty() && restrict_to(averages, allowed))
    processors = static_cast<double>(allowed.size());
  if (!(processors > 0)) processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  // As in worst(), a negative number marks an unknown value.
  const auto gather_averages = [&](const std::optional<double>& value) {
    return allgather_numbers(value.value_or(-1), ranks);
  };
  const std::vector<double> own = gather_averages(averages.own),
                            idle = gather_averages(averages.idle),
                            stolen = gather_averages(averages.stolen);
  const auto number = [](double value) { return value < 0 ? std::nullopt : std::optional(value); };
  std::vector<Contention> here;
  double used = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != ranks.host()) continue;
    Contention& contention = here.emplace_back();
    contention.own = number(own[rank]), contention.idle = number(idle[rank]),
    contention.stolen = number(stolen[rank]);
    used += contention.own.value_or(0);
  }
  averages.foreign = foreign_work(here, processors);
  if (averages.own) averages.own = used;
  averages.stolen = worst(averages.stolen, ranks);
  averages.throttled = worst(averages.throttled, ranks);
  // Infinity, which wins every maximum, marks an unknown value of a host.
  averages.foreign = worst(averages.foreign.value_or(HUGE_VAL), ranks);
  if (averages.foreign == HUGE_VAL) averages.foreign.reset();
}

}  // namespace assay
