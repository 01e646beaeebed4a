#include "analysis/one_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/result/result_check.hpp"

namespace assay {

void expect_one_statistics(const std::vector<NamedResult>& results) {
  const NamedResult* first = nullptr;
  for (const NamedResult& named : results) {
    const nlohmann::json& rows = named.result.at("rows");
    if (std::none_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
          return row.at("status") == "ok" && !row.value("published", false);
        }))
      continue;
    if (first == nullptr) first = &named;
    const int was = statistics_of(first->result.at("run")),
              is = statistics_of(named.result.at("run"));
    if (was != is)
      throw InputError(fmt::format(
          "{} has version {} of the statistics, {} has version {} (other estimators give other "
          "numbers for the same samples). Name results of one version.",
          first->name, was, named.name, is));
  }
}

}  // namespace assay
