#include <fmt/format.h>

#include <iostream>

#include "analysis/report/report.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace {

int write_report(const Arguments& arguments) {
  const std::string out = read_value(arguments, "out").value_or("report.html");
  std::vector<std::string> inputs = read_values(arguments, "FILE");
  for (const std::string& name : read_values(arguments, "baseline")) inputs.push_back(name);
  check_output("--out", out, inputs);
  ReportInput input = load_report(read_values(arguments, "FILE"));
  input.title = read_value(arguments, "title").value_or("Assay report");
  for (const std::string& name : read_values(arguments, "baseline"))
    input.baselines.push_back(Baseline::load(name));
  const std::filesystem::path assets = data_folder("report");
  if (const std::string missing = plots_missing(assets); !missing.empty())
    std::cerr << "assay: the report has tables and no plots (" << missing << ")." << std::endl;
  write_text(out, report_page(report_document(input), assets));
  std::cerr << fmt::format("report: {}", std::filesystem::absolute(out).string()) << std::endl;
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command report_command() {
  return {
      "report",
      "Write one HTML page, which opens offline, of results and of what compare, model, "
      "history and accept made of them.",
      {{"FILE",
        "result file, folder of a run, or a JSON document of compare, model, history or accept",
        "FILE", "", true, true},
       {"--baseline", "systems beside the rows (names or result files)", "NAME,...",
        "the rows' own", false, true},
       {"--title", "heading of the page", "TEXT", "Assay report"},
       {"--out", "write the page to this file", "FILE", "report.html", false, false, output_group}},
      &write_report,
      {{"assay report results/today", "writes report.html of one run"},
       {"assay report results/monday results/tuesday comparison.json --out both.html",
        "writes a page of two runs and their comparison"}}};
}

}  // namespace assay
