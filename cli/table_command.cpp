#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/load.hpp"
#include "analysis/table/summary.hpp"
#include "analysis/table/table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace {

const std::vector<std::string> formats = {"terminal", "markdown", "latex", "csv", "json"};

TableOptions read_table_options(const Arguments& arguments, const std::string& format) {
  TableOptions options;
  options.markdown = format == "markdown";
  options.latex = format == "latex";
  options.by = read_value(arguments, "by").value_or("");
  options.absolutes = arguments.contains("absolutes");
  options.columns = read_values(arguments, "columns");
  options.filter = read_values(arguments, "filter");
  options.sort = read_value(arguments, "sort").value_or("");
  if (!options.columns.empty() && (format == "csv" || format == "json"))
    throw InputError("--columns cannot be used with --format " + format +
                     " (its fields are always the same). Leave one of them out.");
  return options;
}

std::string render(const Results& results, const std::vector<Baseline>& baselines,
                   const TableOptions& options, const std::string& format) {
  if (format == "csv") return render_csv(results, baselines, options);
  if (format != "json") return render_table(results, baselines, options);
  const nlohmann::json document = table_document(results, baselines, options);
  check_own(document, "table");
  return document.dump(1) + "\n";
}

/// Reads the files, after checking --out against them and `others`.
Results load_inputs(const Arguments& arguments, const std::vector<std::string>& files,
                    const std::vector<std::string>& others = {}) {
  std::vector<std::string> inputs = files;
  inputs.insert(inputs.end(), others.begin(), others.end());
  if (const auto out = read_value(arguments, "out")) check_output("--out", *out, inputs);
  return load_results(files);
}

std::vector<Baseline> load_baselines(const std::vector<std::string>& names) {
  std::vector<Baseline> baselines;
  for (const std::string& name : names) baselines.push_back(Baseline::load(name));
  return baselines;
}

/// True if this is the name of a shipped summary, and no file or baseline has this name.
bool is_summary(const std::string& name) {
  const auto among = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return among(list_summary_names()) && !among(list_baseline_names()) &&
         !std::filesystem::exists(name);
}

/// The first file is the name of a summary; the files after it are summarised.
int summarize_ensemble(const Arguments& arguments, std::vector<std::string> files,
                       const std::string& format) {
  refuse_flags(
      arguments,
      {"by", "filter", "sort", "columns", "absolutes", "layers", "epochs", "blame", "matrix"},
      "the summary " + files[0], "its lines are always the same");
  const SpeedupSummary summary = read_summary(files[0]);
  files.erase(files.begin());
  if (files.empty()) files = summary.systems;
  std::vector<std::string> names = read_values(arguments, "baseline");
  if (names.empty()) names = summary.baselines;
  const std::vector<Baseline> baselines = load_baselines(names);
  emit(arguments,
       render_summary_table(summary, load_inputs(arguments, files, names), baselines, format));
  return static_cast<int>(ExitCode::ok);
}

/// A view of results that replaces the table of rows.
struct View {
  std::string flag;
  std::vector<std::string> refused;  ///< flags that it cannot be used with
  std::string why_refused;
  RecordList (*records)(const Results&, const TableOptions&);
  std::string (*text)(const Results&, const TableOptions&);
};

const std::vector<View> views{{"blame",
                               {"by", "columns", "absolutes", "baseline", "layers", "epochs"},
                               "its columns are always the same",
                               make_blame_records,
                               render_blame},
                              {"matrix",
                               {"by", "columns", "absolutes", "baseline", "layers", "epochs"},
                               "its lines and columns are places and nodes",
                               make_matrix_records,
                               render_matrix},
                              {"epochs",
                               {"columns", "absolutes", "baseline", "layers"},
                               "its columns are always the same",
                               make_epoch_records,
                               render_epoch_table},
                              {"layers",
                               {"by", "columns", "absolutes", "baseline"},
                               "its columns are always the same",
                               make_layer_records,
                               render_layer_table}};

int show(const View& view, const Arguments& arguments, const std::string& format) {
  refuse_flags(arguments, view.refused, "--" + view.flag, view.why_refused);
  const Results results = load_inputs(arguments, read_values(arguments, "FILE"));
  const TableOptions options = read_table_options(arguments, format);
  if (format != "csv" && format != "json") {
    emit(arguments, view.text(results, options));
    return static_cast<int>(ExitCode::ok);
  }
  const RecordList list = view.records(results, options);
  emit(arguments, format == "csv" ? make_csv(list) : nlohmann::json(list.records).dump(1) + "\n");
  return static_cast<int>(ExitCode::ok);
}

int table(const Arguments& arguments) {
  const std::string format = read_choice(arguments, "format", formats);
  std::vector<std::string> files = read_values(arguments, "FILE");
  if (is_summary(files.front())) return summarize_ensemble(arguments, std::move(files), format);
  for (const View& view : views)
    if (arguments.contains(view.flag)) return show(view, arguments, format);
  const TableOptions options = read_table_options(arguments, format);
  std::vector<std::string> names = read_values(arguments, "baseline");
  if (options.by == "system") {  // a system that is shown beside others is a result, too
    files.insert(files.end(), names.begin(), names.end());
    names.clear();
  }
  const std::vector<Baseline> baselines = load_baselines(names);
  const Results results = load_inputs(arguments, files, names);
  if (!options.by.empty()) expect_one_statistics(results);
  emit(arguments, render(results, baselines, options, format));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command table_command() {
  return {
      "table",
      "Show result files as a table, beside other systems' numbers.",
      {{"FILE",
        "result file, folder of a run, or name of a shipped baseline. If the first is the name of "
        "a summary (see `assay list summaries`), the speedups of the others are shown by its "
        "categories",
        "FILE", "", true, true},
       {"--baseline", "systems to show beside the rows (names or result files)", "NAME,...",
        "the rows' own", false, true},
       {"--by",
        "parameter whose values become columns: system, backend, threads, ... (with --baseline: "
        "its values in the baseline); precision: a line for each as it was executed, with speedup "
        "over fp32 and errors",
        "PARAMETER"},
       {"--filter",
        "show only rows for which all hold: KEY=PATTERN or KEY!=PATTERN (RE2, against the "
        "whole value), like precision=fp32,algorithm=wino.*; PATTERN alone is searched for in "
        "the id. Keys: each parameter, benchmark, problem, id, status, result, system, host",
        "EXPR,...", "", false, true},
       {"--sort", "order of the rows: a key of --filter, time, rate or error; \":desc\" reverses",
        "KEY[:desc]", "benchmark, problem, parameters"},
       {"--columns",
        "columns to show, in this order: parameters, result, id, repeat, benchmark, "
        "problem, environment, launches, time, interval, rate, algbw, busbw, ceiling, error, "
        "energy, "
        "a system, ran, speedup; with --by precision also speedup_interval, norm_error, executed, "
        "energy_saved; all: each, and unsupported rows one by one",
        "NAME,...", "those that tell rows apart", false, true},
       format_flag(formats),
       {"--absolutes", "show both absolute values in every cell with a ratio"},
       {"--layers",
        "show the operations of networks, the longest first: time, share, rate, part of the "
        "ceiling"},
       {"--epochs", "show loss and accuracy of trainings after each epoch, by precision or --by"},
       {"--blame", "show for which ranks and links the others waited, how long, and why"},
       {"--matrix",
        "show copies between places, and rows that several pairs of nodes ran, as matrices"},
       out_flag()},
      &table,
      {{"assay table results/today", "prints the rows of a run"},
       {"assay table results/today --format csv --out today.csv", "writes them for a spreadsheet"},
       {"assay table results/today --format latex --out table.tex", "writes them for a paper"},
       {"assay table results/today --filter precision=fp32 --sort time",
        "prints the rows of one precision, the fastest first"},
       {"assay table results/today --by precision", "prints what each precision gains and costs"},
       {"assay table coral2 results/today",
        "prints the speedups of CORAL-2's suites by category, beside the published ones"}}};
}

}  // namespace assay
