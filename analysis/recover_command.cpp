#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/commands.hpp"
#include "analysis/run/result_file.hpp"
#include "core/base/error.hpp"
#include "core/result/outputs.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Of a program that was not started by `assay run`: x.json.journal.jsonl, beside x.json.
const std::string of_program = ".journal.jsonl";

int recover(const Given& given) {
  const std::string journal = *value_of(given, "JOURNAL");
  const bool own = journal.ends_with(of_program) && journal.size() > of_program.size() &&
                   fs::path(journal).filename() != of_program;
  const auto given_out = value_of(given, "out");
  if (!given_out && !own)
    throw InputError(fmt::format(
        "--out is missing ({} does not tell the result's name). Say where to write it; the run of "
        "`assay run` goes on with --resume.",
        journal));
  const fs::path out = given_out ? fs::path(*given_out)
                                 : fs::path(journal.substr(0, journal.size() - of_program.size()));
  check_output("--out", out, {journal});
  const nlohmann::json result = write_result(journal, out, {});
  // All of it stands in the result now. The journal of a run stays: the run may be resumed.
  std::error_code stays;
  if (own) fs::remove(journal, stays);
  std::cerr << fmt::format("assay recover: {} rows in {}\n", result.at("rows").size(),
                           out.string());
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
