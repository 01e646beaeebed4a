#include "analysis/one_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"

namespace assay {

void expect_one_statistics(const std::vector<NamedResult>& results) {
  const NamedResult* first = nullptr;
  for (const NamedResult& named : results) {
    const auto measured = [](const Row& row) { return row.is_ok() && !row.published; };
    if (std::ranges::none_of(named.rows(), measured)) continue;
    if (first == nullptr) first = &named;
    const int was = first->run().statistics, is = named.run().statistics;
    if (was != is)
      throw InputError(fmt::format(
          "{} has version {} of the statistics, {} has version {} (other estimators give other "
          "numbers for the same samples). Name results of one version.",
          first->name, was, named.name, is));
  }
}

}  // namespace assay
