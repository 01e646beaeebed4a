#pragma once
// `assay report`: one HTML page with results and with documents of other commands.
// report_document() computes everything that the page shows; report_page() puts it into the page,
// and the page's script only renders it.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "analysis/accept/acceptance.hpp"
#include "analysis/compare/comparison.hpp"
#include "analysis/history/history.hpp"
#include "analysis/report/fleet.hpp"
#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// A document of another command. The document of `assay model` stays JSON, because only the page
/// reads it.
struct NamedDocument {
  std::string name;
  std::variant<Acceptance, Comparison, History, nlohmann::json> content;

  /// "acceptance", "comparison", "history" or "model".
  const char* kind() const;
};

struct ReportInput {
  std::string title;
  Results results;
  std::vector<NamedDocument> documents;
  std::vector<Baseline> baselines;  ///< shown beside the rows, instead of the rows' own
  report::FleetSummary fleet{};     ///< for many nodes: `results` then has only the shown rows
};

/// Sorts files into results and documents by their "schema"; InputError as load_results and
/// read_checked. Samples are dropped after they are checked, since the page does not show them. A
/// fleet (analysis/report/fleet.hpp) keeps only medians and the rows that need attention.
ReportInput load_report(const std::vector<std::string>& files);

/// Parts without data are absent. A number NAME that the page shows has its text, NAME_text.
nlohmann::json report_document(const ReportInput& input);

/// JSON text that is safe in a <script> element: nothing in it ends the element or begins a
/// comment.
std::string script_json(const nlohmann::json& document);

/// The page, from the template, style, scripts and, if present, Plotly in `assets`. Without Plotly
/// the document gets "plotly_reason", and the page has only tables.
std::string report_page(nlohmann::json document, const std::filesystem::path& assets);

/// Why a page made from `assets` has no plots; "" if it has.
std::string plots_missing(const std::filesystem::path& assets);

}  // namespace assay
