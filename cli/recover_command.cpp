#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/result/journal.hpp"
#include "core/result/outputs.hpp"
#include "runner/run/result_file.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// The journal of a program that `assay run` did not start: x.json.journal.jsonl for x.json.
const std::string program_suffix = ".journal.jsonl";

int recover(const Arguments& arguments) {
  const std::string journal = *read_value(arguments, "JOURNAL");
  const bool own = journal.ends_with(program_suffix) && journal.size() > program_suffix.size() &&
                   fs::path(journal).filename() != program_suffix;
  const auto given_out = read_value(arguments, "out");
  if (!given_out && !own)
    throw InputError(fmt::format(
        "--out is missing (the name {} does not contain the name of the result). Give a file; to "
        "continue a run of `assay run`, use --resume.",
        journal));
  const fs::path out = given_out
                           ? fs::path(*given_out)
                           : fs::path(journal.substr(0, journal.size() - program_suffix.size()));
  check_output("--out", out, {journal});
  if (is_being_written(journal))
    throw InputError(fmt::format(
        "{} is written by a program that is still running. Wait for its end.", journal));
  // The result contains all rows of the journal of a single program, which is then removed. A run
  // may be resumed, so its journal stays.
  RunRecord record = read_run(journal);
  if (record.rows.empty()) {
    if (own) remove_journal(journal);
    std::cerr << fmt::format("assay recover: {} has no finished row: no result was written{}\n",
                             journal, own ? ", and the journal was removed" : "");
    return static_cast<int>(ExitCode::incomparable);
  }
  const RunResult result = write_run_result(std::move(record), journal, out, {});
  if (own) remove_journal(journal);
  std::cerr << fmt::format("assay recover: wrote {} to {}\n",
                           format_count(result.rows.size(), "row"), out.string());
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command recover_command() {
  return {"recover",
          "Make a result file of the rows that a program had finished before it was killed.",
          {{"JOURNAL", "FILE.journal.jsonl, which a program started with --out FILE has left",
            "JOURNAL", "", true},
           {"--out", "write to this file", "FILE", "JOURNAL without .journal.jsonl"}},
          &recover,
          {{"assay recover lost.json.journal.jsonl", "writes lost.json from the finished rows"}}};
}

}  // namespace assay
