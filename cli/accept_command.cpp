#include <fmt/format.h>

#include <iostream>

#include "analysis/accept/acceptance.hpp"
#include "analysis/accept/pair_rows.hpp"
#include "analysis/gather/node_list.hpp"
#include "analysis/load.hpp"
#include "analysis/page.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace {

int accept(const Arguments& arguments) {
  const std::string format =
      read_choice(arguments, "format", {"terminal", "markdown", "json", "csv"});
  const std::vector<std::string> files = read_values(arguments, "FILE");
  const std::string criteria_name = *read_value(arguments, "criteria");
  const std::string criteria_file = find_criteria(criteria_name).string();
  std::vector<std::string> inputs = files;
  inputs.push_back(criteria_file);
  check_outputs(arguments, {"out", "junit"}, inputs);
  const Criteria criteria = read_criteria(criteria_file);
  const std::vector<std::filesystem::path> read = list_result_files(files);
  const std::vector<ChangeTime> times = read_change_times(read);
  Results results = load_results(files, keep_for_acceptance(criteria));
  expect_one_statistics(results);
  Acceptance acceptance = judge_fleet(
      make_fleet(std::move(results), criteria, list_nodes(files), pair_runs(files)), criteria,
      fmt::format("assay accept {} --criteria {}", join(files, " "), criteria_name));
  acceptance.results = hash_files(read, times);
  acceptance.next = next_command(acceptance, files);
  const nlohmann::json document = acceptance;
  check_own(document, "acceptance");
  if (const auto file = read_value(arguments, "junit"))
    write_text(*file, render_junit_xml(acceptance));
  emit(arguments, format == "json" ? document.dump(1) + "\n"
                  : format == "csv"
                      ? make_csv({{"node", "verdict", "speedup", "score", "rows_missing", "reason"},
                                  document["nodes"]})
                      : render_acceptance(acceptance, format == "markdown"));
  if (arguments.contains("out")) {  // the terminal gets the verdict all the same
    const std::string text = render_acceptance(acceptance, false);
    std::cerr << "assay accept: " << text.substr(0, text.find('\n')) << std::endl;
  }
  return static_cast<int>(acceptance.exit_code);
}

}  // namespace

Command accept_command() {
  return {
      "accept",
      "Judge each node of a fleet by criteria.\nThe first line of the output is the verdict: PASS, "
      "PERF-FAIL, INCORRECT, NOT-COMPARABLE (other hardware or software), MISSING (a row or a "
      "node), or NOT-QUIET (measure again).",
      {{"FILE", "result files, folders of runs, or folders with runs below", "FILE", "", true,
        true},
       {"--criteria",
        "criteria by name (see `assay list criteria`), or a JSON file (docs/acceptance.md explains "
        "every key)",
        "NAME", "", true},
       {"--junit", "write JUnit XML to this file", "FILE", "", false, false, output_group},
       format_flag({"terminal", "markdown", "json", "csv"}),
       out_flag()},
      &accept,
      {{"assay accept results --criteria acceptance",
        "judges each node with results below results/"},
       {"assay accept results --criteria acceptance --junit accept.xml --out accept.txt",
        "writes the verdicts for a CI system and for people"}},
      "0 PASS, 2 bad usage or input, 3 INCORRECT, 4 PERF-FAIL, 5 NOT-QUIET, 6 MISSING or "
      "NOT-COMPARABLE, 7 MISSING because a row failed or timed out, 9 MISSING because a training "
      "missed its target"};
}

}  // namespace assay
