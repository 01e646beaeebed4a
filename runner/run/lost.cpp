#include "runner/run/lost.hpp"

#include <map>

#include "analysis/series.hpp"

namespace assay {

using nlohmann::json;

namespace {

struct Now {
  bool measured = false, other_status = false;
  std::string reason;  ///< of a launch that is unsupported
};

std::map<std::string, Now> rows_now(const json& result) {
  std::map<std::string, Now> rows;
  for (const json& row : result.at("rows")) {
    Now& now = rows[row.at("id")];
    const std::string status = row.at("status");
    if (status == "ok")
      now.measured = true;
    else if (status == "unsupported")
      now.reason = text_of(row, "reason");
    else
      now.other_status = true;
  }
  return rows;
}

std::vector<LostRow> lost(const json& result, const std::set<std::string>& measured,
                          bool absent_too) {
  const std::map<std::string, Now> rows = rows_now(result);
  std::vector<LostRow> all;
  for (const std::string& id : measured) {
    const auto found = rows.find(id);
    if (found == rows.end()) {
      if (absent_too) all.push_back({id, "there is no such row"});
    } else if (!found->second.measured && !found->second.other_status) {
      all.push_back({id, found->second.reason});
    }
  }
  return all;
}

void add_measured(const json& row, std::set<std::string>& ids) {
  if (row.at("status") == "ok" && !row.value("published", false)) ids.insert(row.at("id"));
}

}  // namespace

std::set<std::string> measured_ids(const std::vector<json>& rows) {
  std::set<std::string> ids;
  for (const json& row : rows) add_measured(row, ids);
  return ids;
}

std::vector<LostRow> lost_rows(const json& result, const std::set<std::string>& measured) {
  return lost(result, measured, true);
}

std::vector<LostRow> lost_rows(const json& result, const std::vector<Baseline>& baselines) {
  std::set<std::string> measured;
  for (const Baseline& baseline : baselines)
    for (const json& row : baseline.rows()) add_measured(row, measured);
  return lost(result, measured, false);
}

}  // namespace assay
