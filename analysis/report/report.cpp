#include "analysis/report/report.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "analysis/load.hpp"
#include "analysis/ratio.hpp"
#include "analysis/report/parts.hpp"
#include "analysis/text_table.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/input_file.hpp"
#include "core/base/version.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// In the order of NamedDocument::content.
constexpr const char* kinds[] = {"acceptance", "comparison", "history", "model"};

/// The kind of another command's document, "" for everything else (a result, or a file that
/// load_results refuses with a reason).
std::string detect_kind(const fs::path& file) {
  if (!kind_that_is_not_read(file).empty()) return "";
  std::ifstream stream(file);
  // Only the top level of the document is kept, because results are large.
  const json top = json::parse(
      stream, [](int depth, json::parse_event_t, const json&) { return depth <= 1; }, false);
  if (!top.is_object() || !top.contains("schema") || !top["schema"].is_string()) return "";
  for (const char* kind : kinds)
    if (top["schema"].get<std::string>().starts_with(fmt::format("assay-{}/", kind))) return kind;
  return "";
}

NamedDocument load_document(const std::string& file, const std::string& kind) {
  const json document = read_checked(file, kind);
  if (kind == "acceptance") return {file, document.get<Acceptance>()};
  if (kind == "comparison") return {file, document.get<Comparison>()};
  if (kind == "history") return {file, document.get<History>()};
  return {file, document};
}

}  // namespace

const char* NamedDocument::kind() const { return kinds[content.index()]; }

ReportInput load_report(const std::vector<std::string>& files) {
  ReportInput input;
  std::vector<std::string> results;
  std::set<fs::path> seen;
  for (const std::string& file : files) {
    const std::string kind = detect_kind(file);
    if (kind.empty()) {
      results.push_back(file);
      continue;
    }
    if (!seen.insert(fs::weakly_canonical(file)).second)
      throw InputError(fmt::format("{} is given twice. Name it once.", file));
    input.documents.push_back(load_document(file, kind));
  }
  if (!results.empty()) {
    input.results = load_results(results, report::pack_row);
    input.fleet = report::condense(input.results);
  }
  return input;
}

namespace {

/// {name, kind, …} of each result.
json result_entries(const ReportInput& input) {
  json files = json::array();
  for (const NamedResult& named : input.results) {
    const RunHeader run = named.run();
    files.push_back({{"name", named.name},
                     {"kind", "result"},
                     {"system", named.system()},
                     {"run", run.id},
                     {"suite", run.suite},
                     {"command", run.command.value_or("")},
                     {"started", run.started.value_or("")},
                     {"rows", input.fleet.rows.empty() ? named.rows().size()
                                                       : input.fleet.rows_read.at(files.size())}});
  }
  return files;
}

/// The first findings of a node, and how many more there are.
std::vector<std::string> shown_findings(const JudgedNode& node) {
  constexpr std::size_t most = 6;
  std::vector<std::string> texts = list_finding_texts(node);
  if (texts.empty() && !node.reason.empty()) return {node.reason};
  if (const std::size_t count = texts.size(); count > most) {
    texts.resize(most);
    texts.push_back("and " + format_count(count - most, "more finding"));
  }
  return texts;
}

/// Adds the documents of other commands, by kind, and an entry for each to "files".
void add_documents(const ReportInput& input, json& document) {
  for (const NamedDocument& named : input.documents) {
    json& shown = document[named.kind()].emplace_back();
    if (const auto* acceptance = std::get_if<Acceptance>(&named.content)) {
      shown = report::condense_acceptance(*acceptance);
      for (std::size_t i = 0; const JudgedNode& node : acceptance->nodes)
        shown["nodes"][i++]["findings"] = shown_findings(node);
    } else
      std::visit([&](const auto& content) { shown = content; }, named.content);
    report::add_texts(shown, named.kind());
    shown["file"] = named.name;
    document["files"].push_back(
        {{"name", named.name}, {"kind", named.kind()}, {"command", read_field(shown, "command")}});
  }
}

}  // namespace

json report_document(const ReportInput& input) {
  SeriesList all = make_series(input.results);
  report::adopt_fleet(input.fleet, all);
  const bool fleet = !input.fleet.rows.empty();
  json document = {{"title", input.title},
                   {"made", format_utc_now()},
                   {"version", version()},
                   {"speedup_header", format_speedup_header("{first}", "{second}")},
                   {"least_for_interval", least_for_interval}};
  const auto add = [&](const char* part, json value) {
    report::add_texts(value, part);
    if (!value.is_null()) document[part] = std::move(value);
  };
  document["files"] = result_entries(input);
  add_documents(input, document);
  add("head", report::make_head_part(input));
  document["verdict"] = report::make_verdict_part(input, all);
  document["findings"] = report::make_findings_part(input, all);
  add("rows", report::make_rows_part(input.results, all, input.fleet));
  if (!all.empty()) document["counts"] = report::count_rows(all, input.fleet);
  if (fleet)
    add("fleet", {{"rows", input.fleet.rows.size()},
                  {"nodes", report::largest_count(input.fleet)},
                  {"verified", input.fleet.verified},
                  {"unsupported", input.fleet.unsupported},
                  {"listed_above", report::listed_above},
                  {"not_listed", input.fleet.not_listed}});
  document["several_environments"] = ids_repeat(all);
  add("speedups", report::make_speedups_part(all, input.baselines));
  add("roofline", report::make_roofline_part(input.results, all));
  add("precision", report::make_precision_part(all));
  add("collectives", report::make_collectives_part(input.results, all));
  add("scaling", report::make_scaling_part(input.results, all));
  add("convergence", report::make_convergence_part(input.results, all));
  add("nodes", fleet ? input.fleet.nodes : report::make_nodes_part(input.results, all));
  add("evidence", report::make_evidence_part(input.results, all, input.fleet));
  add("environments", report::make_environments_part(input.results));
  return document;
}

}  // namespace assay
