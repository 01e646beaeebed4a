#include <fmt/format.h>

#include <iostream>
#include <limits>
#include <optional>
#include <vector>

#include "analysis/mllog/submission.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/result/run_result.hpp"

namespace assay {

namespace {

std::string require_value(const Arguments& arguments, const std::string& flag) {
  const std::string value = read_value(arguments, flag).value_or("");
  if (value.empty()) throw InputError(fmt::format("--{} is empty. Give its name.", flag));
  return value;
}

/// The rows that are submissions, among all rows or only the requested one. Why others are not goes
/// to stderr.
std::vector<const Row*> submissions(const std::vector<Row>& rows, std::optional<std::uint64_t> only,
                                    const std::string& file) {
  std::vector<const Row*> chosen;
  for (std::size_t index = 0; index < rows.size(); ++index) {
    if (only && index != *only) continue;
    const std::vector<std::string> reasons = mllog::why_no_submission(rows[index]);
    if (reasons.empty()) chosen.push_back(&rows[index]);
    for (const std::string& reason : reasons)
      std::cerr << fmt::format("assay mllog: {} at /rows/{}: {}\n", file, index, reason);
  }
  return chosen;
}

int write_mllog(const Arguments& arguments) {
  const std::string file = *read_value(arguments, "RESULT");
  const mllog::Submitter submitter{
      require_value(arguments, "org"), require_value(arguments, "platform"),
      read_choice(arguments, "status", {"onprem", "cloud", "preview", "research"}),
      arguments.contains("cache-cleared")};
  check_outputs(arguments, {"out"}, {file});
  const RunResult result = read_result(file);
  const std::vector<Row>& rows = result.rows;
  const auto only =
      read_whole_number(arguments, "row", 0, std::numeric_limits<std::uint32_t>::max());
  if (only && *only >= rows.size())
    throw InputError(fmt::format("--row {}: {} has {}, counted from 0.", *only, file,
                                 format_count(rows.size(), "row")));
  const std::vector<const Row*> chosen = submissions(rows, only, file);
  if (chosen.size() > 1)
    throw InputError(
        fmt::format("{} has {} rows that meet the rules (an MLPerf log contains a single run). "
                    "Choose one with --row.",
                    file, chosen.size()));
  if (chosen.empty()) {
    std::cerr << fmt::format(
        "assay mllog: no log is written ({} has no row that meets the rules of MLPerf Training "
        "3.1.0, closed, ResNet)\n",
        file);
    return static_cast<int>(ExitCode::incomparable);
  }
  emit(arguments, mllog::make_log(result.run, *chosen.front(), submitter));
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

Command mllog_command() {
  return {"mllog",
          "Write the :::MLLOG lines of a training of ResNet-50, as MLPerf Training 3.1.0 (closed) "
          "reads them.\nFor any other run it lists the reasons and writes no log.",
          {{"RESULT", "result file of assay-resnet50, or the folder of a run", "RESULT", "", true},
           {"--org", "organisation that submits", "NAME", "", true},
           {"--platform", "system that was measured", "NAME", "", true},
           {"--status",
            "availability of the system",
            "STATUS",
            "onprem",
            false,
            false,
            "",
            {"onprem", "cloud", "preview", "research"}},
           {"--cache-cleared", "the file system's cache was cleared before the run"},
           {"--row", "index of the row, from 0, if several rows meet the rules", "N"},
           {"--out", "write to this file", "FILE", "stdout"}},
          &write_mllog,
          {{"assay mllog results/today --org \"Example Lab\" --platform testbed",
            "prints the log, or why there is none"}},
          "0: the log was written; 2: bad input; 6: no row meets the rules"};
}

}  // namespace assay
