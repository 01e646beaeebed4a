#include "core/measure/shared_contention.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace assay {

void share(Contention& averages, Communicator& ranks, double processors) {
  if (!(processors > 0)) processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto told = [&](const std::optional<double>& value) {
    return ranks.allgather(value ? fmt::format("{}", *value) : "");
  };
  const std::vector<std::string> hosts = ranks.allgather(ranks.host()), own = told(averages.own),
                                 idle = told(averages.idle), stolen = told(averages.stolen);
  const auto number = [](const std::string& text) {
    return text.empty() ? std::optional<double>() : std::optional(std::stod(text));
  };
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
  // Infinity, the largest, stands for a host that cannot tell.
  double worst = averages.foreign.value_or(HUGE_VAL);
  ranks.allreduce_max(std::span(&worst, 1));
  averages.foreign = worst < HUGE_VAL ? std::optional(worst) : std::nullopt;
}

}  // namespace assay
