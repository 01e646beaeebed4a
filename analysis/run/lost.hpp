#pragma once
// Rows that have a number elsewhere and none here.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/result/baseline.hpp"

namespace assay {

struct LostRow {
  std::string id, reason;
};

/// Ids of the rows that were measured and have a number (never published ones: those are of another
/// machine, and were never this row's).
std::set<std::string> measured_ids(const std::vector<nlohmann::json>& rows);

/// The rows of `measured` that are `unsupported` in `result`, or absent. A wrong or failed row is
/// told by its own status.
std::vector<LostRow> lost_rows(const nlohmann::json& result, const std::set<std::string>& measured);

/// The same against baselines, which may hold more than the suite of the result: what is absent is
/// not lost.
std::vector<LostRow> lost_rows(const nlohmann::json& result,
                               const std::vector<Baseline>& baselines);

}  // namespace assay
