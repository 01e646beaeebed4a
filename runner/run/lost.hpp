#pragma once
// Lost rows: rows that have a result in another run, or in a baseline, and none in this run.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/result/baseline.hpp"

namespace assay {

struct LostRow {
  std::string id, reason;
};

/// Ids of the rows that were measured and have a result. Published rows do not count, since they
/// are from other machines.
std::set<std::string> measured_ids(const std::vector<nlohmann::json>& rows);

/// The rows with an id in `measured` that are `unsupported` in `result`, or absent. Incorrect and
/// failed rows are not included, since their status reports them.
std::vector<LostRow> lost_rows(const nlohmann::json& result, const std::set<std::string>& measured);

/// The same compared with baselines. These may contain more rows than the suite of the result, so
/// absent rows are not lost.
std::vector<LostRow> lost_rows(const nlohmann::json& result,
                               const std::vector<Baseline>& baselines);

}  // namespace assay
