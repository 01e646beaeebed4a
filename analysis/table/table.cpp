#include "analysis/table/table.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/cells.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/curve_table.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/precision_table.hpp"
#include "analysis/table/row_table.hpp"
#include "analysis/table/scaling_table.hpp"
#include "analysis/table/selection.hpp"
#include "analysis/table/totals.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using nlohmann::json;

std::vector<std::pair<std::string, const Baseline*>> systems_of(
    const std::vector<Series>& all, const std::vector<Baseline>& baselines) {
  std::vector<std::pair<std::string, const Baseline*>> systems;
  for (const Baseline& baseline : baselines) systems.emplace_back(baseline.system(), &baseline);
  if (!systems.empty()) return systems;
  std::set<std::string> seen;
  for (const Series& series : all)
    for (const json& row : series.rows)
      if (row.contains("baseline") && row["baseline"].is_object()) {
        const std::string system = row["baseline"].at("system");
        if (seen.insert(system).second) systems.emplace_back(system, nullptr);
      }
  return systems;
}

std::vector<NamedResult> prepared(std::vector<NamedResult> results, const std::string& by) {
  if (by != "system") return results;
  std::map<std::string, int> systems;
  for (const NamedResult& named : results) ++systems[named.result.at("system").at("name")];
  for (NamedResult& named : results) {
    const std::string system = named.result.at("system").at("name");
    for (json& row : named.result.at("rows")) {
      row["parameters"]["system"] = systems[system] > 1 ? named.name : system;
      // Not the work, whatever else a row may list.
      if (row.contains("system_parameters")) row["system_parameters"].push_back("system");
    }
  }
  return results;
}

std::vector<Series> selected(const std::vector<NamedResult>& results, const TableOptions& options) {
  std::vector<Series> all = filtered(results, series_of(results), options.filter);
  sort_by(results, all, options.sort);
  return all;
}

std::string render_table(const std::vector<NamedResult>& given,
                         const std::vector<Baseline>& baselines, const TableOptions& options) {
  const std::vector<NamedResult> results = prepared(given, options.by);
  const std::vector<Series> all = selected(results, options);
  std::string first = nothing_common(all, baselines);
  if (options.by == "system") first += nothing_common_by_system(results, all);
  if (!first.empty()) first = (options.markdown ? markdown_text(first) : first) + "\n";
  if (!options.by.empty() && !baselines.empty())
    return first + crossed_table(results, cross(results, all, baselines, options.by), all, options);
  // Part of a whole is no total, and a filter asks for a part.
  const std::string totals = totals_table(results, all, options.filter.empty(), options.markdown);
  const bool by_line = options.by.empty();
  const std::string table = by_line ? row_table(results, all, systems_of(all, baselines), options)
                            : options.by == "precision"
                                ? precision_table(results, series_of(results), all, options)
                                : pivot_table(results, all, options);
  return first + table + (by_line && !options.markdown && totals.empty() ? "" : "\n") + totals +
         counts(all) + "\n" +
         (by_line ? curve_table(results, all, options.markdown) +
                        scaling_table(results, all, options.markdown)
                  : "");
}

}  // namespace assay
