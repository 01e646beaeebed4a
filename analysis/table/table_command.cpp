#include "analysis/commands.hpp"
#include "analysis/load.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/result/outputs.hpp"

namespace assay {

namespace {

int table(const Given& given) {
  TableOptions options;
  const std::string format = choice_of(given, "format", {"terminal", "markdown", "csv"});
  options.markdown = format == "markdown";
  options.by = value_of(given, "by").value_or("");
  options.absolutes = given.contains("absolutes");
  std::vector<std::string> files = values_of(given, "FILE");
  std::vector<Baseline> baselines;
  for (const std::string& name : values_of(given, "baseline")) {
    if (options.by == "system")
      files.push_back(name);  // a system beside others is a result like theirs
    else
      baselines.push_back(Baseline::load(name));
  }
  std::vector<std::string> inputs = files;
  for (const std::string& name : values_of(given, "baseline")) inputs.push_back(name);
  if (const auto out = value_of(given, "out")) check_output("--out", *out, inputs);
  const std::vector<NamedResult> results = load_results(files);
  emit(given, format == "csv" ? render_csv(results, baselines, options.by)
                              : render_table(results, baselines, options));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command table_command() {
  return {"table",
          "Show result files as a table, beside other systems' numbers.",
          {{"FILE", "result file, folder of a run, or name of a shipped baseline", "FILE", "", true,
            true},
           {"--baseline", "systems to show beside (names or result files)", "NAME,...",
            "the rows' own", false, true},
           {"--by",
            "a parameter whose values become columns: system, backend, precision, threads, ...; "
            "with --baseline its values there",
            "PARAMETER", ""},
           {"--format", "terminal, markdown or csv", "FORMAT", "terminal"},
           {"--absolutes", "both absolute values in every cell that has a ratio", "", ""},
           {"--out", "write to this file", "FILE", "stdout", false, false, output_group}},
          &table,
          {{"assay table results/today", "prints the rows of a run"},
           {"assay table results/today --format csv --out today.csv",
            "writes them for a spreadsheet"}}};
}

}  // namespace assay
