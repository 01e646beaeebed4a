#include "runner/run/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "analysis/software_difference.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"
#include "core/program/rank_locations.hpp"
#include "core/result/result.hpp"
#include "runner/ceilings/ceiling.hpp"

namespace assay {

namespace {

Findings find_left_out(const RunResult& result) {
  Findings findings;
  for (const std::string& id : result.run.left_out)
    findings.add({fmt::format("left out: {} (--walltime; --resume runs it)\n", visible(id)),
                  ExitCode::incomparable});
  return findings;
}

/// Rows of jobs in which hosts loaded different builds of one binary.
Findings find_mixed_hosts(const RunResult& result) {
  std::vector<std::string> mixed;  // by environment
  for (const ResultEnvironment& environment : result.environments)
    mixed.push_back(describe_mixed_binaries(environment));
  std::map<std::string, std::size_t> rows;
  for (const Row& row : result.rows)
    if (row.is_ok()) ++rows[mixed.at(static_cast<std::size_t>(row.environment))];
  rows.erase("");
  Findings findings;
  for (const auto& [difference, count] : rows)
    findings.add(
        {fmt::format("mixed: {} ran on hosts that loaded different builds ({}). Such "
                     "rows are results of no build: install the same one on all hosts, and "
                     "repeat the run.\n",
                     format_count(count, "row"), visible(difference)),
         ExitCode::incomparable});
  return findings;
}

/// Published rows do not count, because they are from other machines.
void add_measured(const Row& row, std::set<std::string>& ids) {
  if (row.is_ok() && !row.published) ids.insert(row.id);
}

/// The ids in `measured` without a result here. `where` has a result. `absent_too`: absent rows
/// count, too.
Findings find_lost(const RunResult& result, const std::set<std::string>& measured,
                   const std::string& where, bool absent_too) {
  std::map<std::string, std::string> reasons;  // of rows without any other status
  std::set<std::string> others;
  for (const Row& row : result.rows)
    if (row.status == "unsupported")
      reasons[row.id] = row.reason;
    else
      others.insert(row.id);
  Findings findings;
  for (const std::string& id : measured) {
    const auto reason = reasons.find(id);
    if (others.contains(id) || (reason == reasons.end() && !absent_too)) continue;
    findings.add(
        {fmt::format("lost: {} ({} has a number; here: {})\n", visible(id), where,
                     visible(reason == reasons.end() ? "there is no such row" : reason->second)),
         ExitCode::incomparable});
  }
  return findings;
}

/// The best sample of the rows of a kernel in the brackets, as a rate.
std::optional<double> best_rate(const std::vector<Bracket>& brackets, const std::string& device,
                                const char* kernel, const std::string& precision,
                                std::optional<double> RowProblem::*amount) {
  std::optional<double> best;
  for (const Bracket& bracket : brackets)
    for (const Row& row : bracket.rows) {
      const std::string its_device = row.parameter("device");
      if (!row.is_ok() || (its_device.empty() ? "cpu" : its_device) != device ||
          row.parameter("precision") != precision || !row.problem.descriptor.starts_with(kernel))
        continue;
      const std::optional<double> done = row.problem.*amount, seconds = row.time_s->min;
      if (done && seconds && *seconds > 0) best = std::max(best.value_or(0), *done / *seconds);
    }
  return best;
}

Findings compare_ceilings(const Site& site, const RunResult& result) {
  Findings findings;
  if (!site.ceilings) return findings;
  const SiteCeilings& promised = *site.ceilings;
  const std::vector<Bracket> brackets(result.run.brackets.begin(), result.run.brackets.end());
  const auto compare = [&](const std::string& what, double expected, std::optional<double> measured,
                           const char* unit) {
    const std::string text = fmt::format("site {}: {}: ", site.name, what);
    if (!measured)
      return findings.add({fmt::format("{}{} expected; this run measured none\n", text,
                                       format_with_unit(expected, unit))});
    const bool low = *measured < (1 - promised.tolerance) * expected;
    findings.add(
        {fmt::format("{}{} of {} expected ({:.1f} %){}\n", text, format_with_unit(*measured, unit),
                     format_with_unit(expected, unit), 100 * *measured / expected,
                     low ? ": below the tolerance of the site" : ""),
         low ? ExitCode::slower : ExitCode::ok});
  };
  for (const auto& [precision, expected] : promised.flops_per_s)
    compare("peak of " + precision, expected,
            best_rate(brackets, promised.device, promised.device == "cpu" ? "fma" : "matmul",
                      precision, &RowProblem::flops),
            "FLOP/s");
  if (promised.memory_bytes_per_s)
    compare("memory", *promised.memory_bytes_per_s,
            best_rate(brackets, promised.device, "triad", "fp64", &RowProblem::bytes), "B/s");
  return findings;
}

}  // namespace

void Findings::add(const Findings& more) {
  text += more.text;
  code = find_gravest(code, more.code);
}

Findings find_mixed(const RunResult& result) {
  std::map<std::string, int> first;                 // environment, by id
  std::map<std::pair<int, int>, std::size_t> rows;  // by two environments
  const auto environment = [&](int index) -> const ResultEnvironment& {
    return result.environments.at(static_cast<std::size_t>(index));
  };
  for (const Row& row : result.rows) {
    if (!row.is_ok()) continue;
    const int before = first.try_emplace(row.id, row.environment).first->second;
    if (environment(before).hashes.software != environment(row.environment).hashes.software)
      ++rows[{before, row.environment}];
  }
  std::map<std::string, std::size_t> differences;
  for (const auto& [pair, count] : rows)
    differences[describe_software_difference(environment(pair.first).software,
                                             environment(pair.second).software)] += count;
  Findings findings = find_mixed_hosts(result);
  for (const auto& [difference, count] : differences)
    findings.add({fmt::format("mixed: {} ran with other software than the same case in an "
                              "earlier launch ({}). Such cases have no single result: repeat the "
                              "run.\n",
                              format_count(count, "row"),
                              difference.empty() ? "the system's libraries" : visible(difference)),
                  ExitCode::incomparable});
  return findings;
}

Findings find_lost(const RunResult& result, const RunResult& other, const std::string& where) {
  std::set<std::string> measured;
  for (const Row& row : other.rows) add_measured(row, measured);
  return find_lost(result, measured, where, true);
}

Findings find_findings(const RunResult& result, const std::vector<Baseline>& baselines,
                       const std::optional<Site>& site) {
  Findings findings = find_left_out(result);
  std::set<std::string> measured;
  for (const Baseline& baseline : baselines)
    for (const Row& row : baseline.rows()) add_measured(row, measured);
  // Baselines may contain more rows than the suite of the result.
  findings.add(find_lost(result, measured, "the baseline", false));
  if (site) findings.add(compare_ceilings(*site, result));
  return findings;
}

ExitCode print_result(const RunResult& result, const std::vector<std::string>& baselines,
                      const std::optional<Site>& site, const std::string& folder) {
  std::vector<Baseline> loaded;
  for (const std::string& name : baselines) loaded.push_back(Baseline::load(name));
  const Findings findings = find_findings(result, loaded, site);
  std::cout << render_table({{"", result}}, {}, {}) << "\nresult: " << folder << "/result.json\n"
            << findings.text << std::flush;
  return find_gravest(exit_code(result.rows), findings.code);
}

}  // namespace assay
