#pragma once
// The parts of a report's document. A part is null where the rows have no data for it. Rows are
// referred to by the index of their series; numbers come from ok rows only.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"

namespace assay::report {

/// {machines, suites, first, last}: the head of the page.
nlohmann::json make_head_part(const ReportInput& input);
/// {code, word, text, also, note}: the most severe verdict of all inputs, and the others in "also".
nlohmann::json make_verdict_part(const ReportInput& input, const SeriesList& all);
/// {failed, lost, noisy}: lists of {word, what, section, count, items: [{name, reason}]}.
nlohmann::json make_findings_part(const ReportInput& input, const SeriesList& all);
/// True if the series is unsupported although its suite requires it.
bool lacks_required(const Series& series);

nlohmann::json make_rows_part(const Results& results, const SeriesList& all,
                              const FleetSummary& fleet);
/// The number of rows in all, of each status, and of ok rows that were disturbed, throttled or
/// oversubscribed.
std::map<std::string, std::size_t> count_rows(const SeriesList& all, const FleetSummary& fleet);
nlohmann::json make_speedups_part(const SeriesList& all, const std::vector<Baseline>& baselines);

nlohmann::json make_roofline_part(const Results& results, const SeriesList& all);
nlohmann::json make_precision_part(const SeriesList& all);
nlohmann::json make_scaling_part(const Results& results, const SeriesList& all);
nlohmann::json make_collectives_part(const Results& results, const SeriesList& all);
/// Trainings to a target accuracy, by global batch size.
nlohmann::json make_convergence_part(const Results& results, const SeriesList& all);
nlohmann::json make_nodes_part(const Results& results, const SeriesList& all);
/// Evidence of rows beside their times: a list of sections {id, title, text, tables, notes,
/// curves}. The tables have the texts that a terminal shows: {title, columns, lines: {cells,
/// numbers, note}}. A table that is drawn as a `matrix` also has `ratios` to the median in its
/// lines, above 1 faster.
nlohmann::json make_evidence_part(const Results& results, const SeriesList& all,
                                  const FleetSummary& fleet);
/// Its sections about single nodes: devices and burn-in.
nlohmann::json node_evidence(const Results& results, const SeriesList& all);
/// Adds a text to a list that lacks it; "" is never added.
void add_once(nlohmann::json& list, const std::string& text);
nlohmann::json make_environments_part(const Results& results);
/// A common name of nodes with the same system and processor. A system without a given name has the
/// name of its host, which is left out.
std::string fleet_name(const std::string& system, const ResultEnvironment& environment);

/// Adds NAME_text, the text for people, to each number or list of numbers NAME in this part of the
/// document that the page shows. `under`: all numbers are formatted like the field of this name.
void add_texts(nlohmann::json& part, const std::string& name, const std::string& under = "");

/// The status of the series; "published" for a published number, since Assay has not verified it.
std::string describe_status(const Series& series);
/// Gives each curve a "name" with the properties that differ between the curves (system, problem,
/// settings), and "full" with all of them. `series`: one series of each curve. `without`: settings
/// that vary along the curve.
void name_apart(nlohmann::json& curves, const Results& results,
                const std::vector<const Series*>& series, const std::vector<std::string>& without);

}  // namespace assay::report
