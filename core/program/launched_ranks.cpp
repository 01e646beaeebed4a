#include "core/program/launched_ranks.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

std::unique_ptr<Communicator> connect_launched_ranks(Plugins& plugins) {
  const LaunchInfo start = read_launch_info();
  if (start.size == 1) return make_serial_communicator();
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  std::vector<std::string> reasons;
  for (const std::string& name : dimension::list_backends("launched ranks")) {
    Result<Backend*> opened = plugins.open(name);
    if (const auto* refusal = std::get_if<Unsupported>(&opened)) {
      reasons.push_back(refusal->reason);
      continue;
    }
    Result<std::unique_ptr<Communicator>> connected =
        std::get<Backend*>(opened)->connect({}, *alone);
    if (auto* ranks = std::get_if<std::unique_ptr<Communicator>>(&connected))
      return std::move(*ranks);
    reasons.push_back(std::get<Unsupported>(connected).reason);
  }
  throw CaseError(
      fmt::format("rank {} on {} cannot join the {} processes that {} has started ({}).",
                  start.rank, alone->host(), start.size, start.by, join(reasons, "; ")));
}

}  // namespace assay
