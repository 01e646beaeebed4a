#include "analysis/junit.hpp"

#include <fmt/format.h>

#include "analysis/history/history.hpp"
#include "core/result/launches.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The last gap, where it is later than every point: the last run has no result.
const json* last_run_gap(const json& series) {
  if (series["gaps"].empty()) return nullptr;
  const json& gap = series["gaps"].back();
  const json& points = series["points"];
  const bool later =
      points.empty() || points.back()["time"].get<std::string>() <= gap["time"].get<std::string>();
  return later ? &gap : nullptr;
}

void add_series(JunitSuite& suite, const json& series) {
  const std::string id = series["id"], state = series["state"], reason = series["reason"];
  if (const json* gap = last_run_gap(series)) {
    const std::string status = (*gap)["status"], why = (*gap)["reason"];
    if (is_final(status)) return suite.add(id, "failure", status, why);
    if (status == "failed" || status == "timeout" || status == "ambiguous")
      return suite.add(id, "error", status, why);
    if (state == "lost") return suite.add(id, "failure", state, reason);
    return suite.add(id, "skipped", status, status + ": " + why);
  }
  if (series.contains("confirmation")) {
    const std::string answer = series["confirmation"]["answer"],
                      why = series["confirmation"]["reason"];
    if (answer.ends_with("slower")) return suite.add(id, "failure", answer, why);
    if (answer == "unconfirmed") return suite.add(id, "error", answer, why);
  }
  if (state == "slower" || state == "drifting" || state == "lost")
    return suite.add(id, "failure", state, reason);
  // Verified, though nothing judges its speed yet.
  suite.add(id, "", "", "");
}

}  // namespace

std::string history_junit(const json& document) {
  std::map<std::string, JunitSuite> suites;
  for (const json& series : document["series"]) {
    const std::string name = series["benchmark"];
    add_series(suites.try_emplace(name, name).first->second, series);
  }
  std::string all;
  for (const auto& [name, suite] : suites) suite.write(all);
  return junit_text(all);
}

}  // namespace assay
