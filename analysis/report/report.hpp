#pragma once
// One HTML page of results and of what the other commands made of them. report_document holds all
// that the page says (pure, tested); report_page puts it into the page; its script only renders.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/report/fleet.hpp"
#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// A document of another command: "comparison", "model", "history" or "acceptance".
struct NamedDocument {
  std::string kind, name;
  nlohmann::json document;
};

struct ReportInput {
  std::string title;
  std::vector<NamedResult> results;
  std::vector<NamedDocument> documents;
  std::vector<Baseline> baselines;  ///< beside the rows, instead of the rows' own
  report::FleetSummary fleet{};     ///< of results of many nodes: `results` has chosen rows alone
};

/// Sorts files into results and documents by their "schema"; InputError as load_results and
/// read_checked. Samples are left out once they are checked: the page has no use for them. Of a
/// fleet (analysis/report/fleet.hpp) medians and the rows that need a look are kept.
ReportInput load_report(const std::vector<std::string>& files);

/// A part that no input has data for is absent. Texts of rows are indices into "strings".
nlohmann::json report_document(const ReportInput& input);

/// JSON that can stand in a <script> element: nothing in it ends the element or begins a comment.
std::string script_json(const nlohmann::json& document);

/// The page, from the template, style, scripts and (where it is there) Plotly in `assets`. Where
/// Plotly is missing, the document is told ("plotly_reason") and the page has tables alone.
std::string report_page(nlohmann::json document, const std::filesystem::path& assets);

/// Why a page made from `assets` has no plots; "" where it has.
std::string plots_missing(const std::filesystem::path& assets);

}  // namespace assay
