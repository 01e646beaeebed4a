#include "analysis/run/findings.hpp"

#include <fmt/format.h>

#include "analysis/launch/site.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using nlohmann::json;

namespace {

Findings left_out_findings(const json& result) {
  Findings found;
  const json ids = result.at("run").value("left_out", json::array());
  for (const json& id : ids)
    found.text += fmt::format("left out: {} (--walltime; --resume runs it)\n",
                              visible(id.get<std::string>()));
  if (!ids.empty()) found.code = ExitCode::incomparable;
  return found;
}

}  // namespace

Findings lost_findings(const std::vector<LostRow>& lost, const std::string& where) {
  Findings found;
  for (const LostRow& row : lost)
    found.text += fmt::format("lost: {} ({} has a number; here: {})\n", visible(row.id), where,
                              visible(row.reason));
  if (!lost.empty()) found.code = ExitCode::incomparable;
  return found;
}

Findings findings_of(const json& result, const std::vector<Baseline>& baselines, const json& site) {
  Findings all = left_out_findings(result);
  const auto add = [&](const std::string& text, ExitCode code) {
    all.text += text;
    all.code = gravest(all.code, code);
  };
  const Findings lost = lost_findings(lost_rows(result, baselines), "the baseline");
  add(lost.text, lost.code);
  if (site.is_object()) {
    const CeilingVerdict verdict = compare_ceilings(site, result);
    add(verdict.text, verdict.code);
  }
  return all;
}

}  // namespace assay
