#include "runner/run/findings.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "analysis/software_difference.hpp"
#include "analysis/text_table.hpp"
#include "core/program/rank_locations.hpp"
#include "runner/launch/site.hpp"

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

/// Rows of jobs whose hosts loaded several builds of one binary.
Findings mixed_hosts(const json& result) {
  std::vector<std::string> mixed;  // by environment
  for (const json& environment : result.at("environments"))
    mixed.push_back(mixed_binaries(environment));
  std::map<std::string, std::size_t> rows;
  for (const json& row : result.at("rows"))
    if (row.at("status") == "ok") ++rows[mixed.at(row.at("environment").get<std::size_t>())];
  rows.erase("");
  Findings found;
  for (const auto& [difference, count] : rows)
    found.text += fmt::format(
        "mixed: {} rows ran on hosts that loaded different builds ({}). Such rows are results of "
        "no build: install the same one on all hosts, and repeat the run.\n",
        count, visible(difference));
  if (!rows.empty()) found.code = ExitCode::incomparable;
  return found;
}

}  // namespace

Findings mixed_findings(const json& result) {
  const json& environments = result.at("environments");
  std::map<std::string, std::size_t> first;                         // environment, by id
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> rows;  // by two environments
  for (const json& row : result.at("rows")) {
    if (row.at("status") != "ok") continue;
    const std::size_t index = row.at("environment"),
                      before = first.try_emplace(row.at("id"), index).first->second;
    if (environments.at(before).at("hashes").at("software") !=
        environments.at(index).at("hashes").at("software"))
      ++rows[{before, index}];
  }
  std::map<std::string, std::size_t> differences;
  for (const auto& [pair, count] : rows)
    differences[software_difference(environments.at(pair.first).at("software"),
                                    environments.at(pair.second).at("software"))] += count;
  Findings found = mixed_hosts(result);
  for (const auto& [difference, count] : differences)
    found.text += fmt::format(
        "mixed: {} rows ran with other software than the same case in an earlier launch ({}). Such "
        "cases have no single result: repeat the run.\n",
        count, difference.empty() ? "the system's libraries" : visible(difference));
  if (!rows.empty()) found.code = ExitCode::incomparable;
  return found;
}

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
