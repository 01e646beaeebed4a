#pragma once
// The parts of a report's document. Each is null where the rows have no data for it. A row is its
// index among the series; a number comes from ok rows alone.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"

namespace assay::report {

/// Texts that repeat (backends, citations) stand once.
class Strings final {
 public:
  std::size_t operator()(const std::string& text);
  nlohmann::json list() const { return list_; }

 private:
  std::map<std::string, std::size_t> places_;
  nlohmann::json list_ = nlohmann::json::array();
};

/// {machines, suites, first, last}: what the page opens with.
nlohmann::json head_part(const ReportInput& input);
/// {code, word, text, also, note}: the gravest verdict of all inputs, and the others in "also".
nlohmann::json verdict_part(const ReportInput& input, const std::vector<Series>& all);
/// {failed, lost, noisy}: lists of {word, what, section, count, items: [{name, reason}]}.
nlohmann::json findings_part(const ReportInput& input, const std::vector<Series>& all);
/// Unsupported, though its suite requires it.
bool lacks_required(const Series& series);

/// The command that measures a row again, in words of the shell; "" for published rows.
std::string repeat_command(const nlohmann::json& result, const nlohmann::json& row);
nlohmann::json rows_part(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                         const FleetSummary& fleet, Strings& strings);
nlohmann::json counts_part(const std::vector<Series>& all);
nlohmann::json speedups_part(const std::vector<Series>& all, const std::vector<Baseline>& baselines,
                             Strings& strings);

nlohmann::json roofline_part(const std::vector<NamedResult>& results,
                             const std::vector<Series>& all);
nlohmann::json precision_part(const std::vector<Series>& all, Strings& strings);
nlohmann::json scaling_part(const std::vector<NamedResult>& results,
                            const std::vector<Series>& all);
nlohmann::json collectives_part(const std::vector<NamedResult>& results,
                                const std::vector<Series>& all);
/// Trainings to an accuracy, by the images of a step.
nlohmann::json convergence_part(const std::vector<NamedResult>& results,
                                const std::vector<Series>& all);
nlohmann::json nodes_part(const std::vector<NamedResult>& results, const std::vector<Series>& all);
nlohmann::json environments_part(const std::vector<NamedResult>& results);
/// What nodes with one name of their system and one processor are called together; where nobody has
/// named the system, each result has the name of its host, and this leaves it out.
std::string fleet_name(const std::string& system, const nlohmann::json& environment);

/// A document of `assay accept` of more than `most_nodes` nodes without the rows that passed on
/// nodes that passed, and of the others no more than a page can show; "rows_of" then counts a
/// node's rows.
nlohmann::json condensed_acceptance(nlohmann::json document);

/// Records of the same fields as a column for each, a third of the size; null for an empty list.
nlohmann::json columns_of(const nlohmann::json& records);

/// Its status; "published" for a number that others have printed: nothing here has verified it.
std::string status_of(const Series& series);
/// The machine by its hardware's hash: a ratio of two rows is one of their settings only there.
std::string hardware_of(const std::vector<NamedResult>& results, const Series& series);
/// Benchmark and problem.
std::string work_of(const Series& series);
/// A parameter that is a number, else 0.
double parameter_number(const Series& series, const std::string& name);
/// Whether it moved a message among ranks.
bool is_collective(const Series& series);
/// Gives each curve "name", what tells it apart (system, problem, settings that not all share), and
/// "full", all of it. `series` is one of each curve's; settings named in `without` are the axis.
void name_apart(nlohmann::json& curves, const std::vector<NamedResult>& results,
                const std::vector<const Series*>& series, const std::vector<std::string>& without);

}  // namespace assay::report
