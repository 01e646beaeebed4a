#include "runner/run/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "core/result/result_check.hpp"
#include "core/result/schema.hpp"
#include "runner/ceilings/ceiling.hpp"

namespace assay {

using nlohmann::json;

RunResult make_run_result(RunRecord record, const std::vector<Baseline>& baselines,
                          const std::vector<std::string>& left_out) {
  if (!record.header)
    throw InputError(
        "the journal has no event \"run\", so the run of its rows is unknown. No result can be "
        "made "
        "of it: start another run.");
  RunResult result;
  result.schema = std::move(record.schema);
  result.run = std::move(*record.header);
  const RunSettings settings = result.run.settings.value_or(RunSettings{});
  result.system = settings.system.empty() ? system_name() : settings.system;
  std::map<ProcessKey, int> places;
  for (RunRecord::Process& process : record.processes) {
    places.emplace(process.key, static_cast<int>(result.environments.size()));
    result.environments.push_back(std::move(process.environment));
  }
  const std::vector<Bracket> brackets(record.brackets.begin(), record.brackets.end());
  const char* const none = settings.ceilings
                               ? "no ceiling was measured before or after the row"
                               : "ceilings were switched off (by the suite or --no-ceilings)";
  // Processes that died before they reported an environment get the environment of `assay run`
  // itself.
  int own = -1;
  for (RecordedRow& recorded : record.rows) {
    Row& row = recorded.row;
    if (const auto place = places.find({row.benchmark, row.launch, row.attempt});
        place != places.end()) {
      row.environment = place->second;
    } else {
      if (own < 0) {
        own = static_cast<int>(result.environments.size());
        result.environments.push_back(record.environment);
      }
      row.environment = own;
    }
    if (row.is_ok()) add_baseline(row, baselines);
    add_ceiling(row, brackets, recorded.brackets, result.environment(row), none);
    result.rows.push_back(std::move(row));
  }
  result.run.case_hashes.clear();
  result.run.resumed =
      static_cast<int>(std::ranges::count_if(record.sessions, &RunRecord::Session::resumed));
  result.run.brackets = std::move(record.brackets);
  result.run.finished = format_utc_now();
  result.run.left_out = left_out;
  return result;
}

void write_checked(const RunResult& result, const std::filesystem::path& file) {
  const json document = result;
  // A file that violates the public schema must not get the name of a result.
  if (const auto errors = find_schema_errors(document, "result", file.string()); !errors.empty())
    throw std::runtime_error(
        fmt::format("the result of this run violates its schema ({}). Its rows are kept in {}; "
                    "please report this as a bug of Assay.",
                    errors.front(), file.parent_path().string()));
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    check_row(document["rows"][i], i, document, file.string());
  write_json(file, document);
}

RunResult write_run_result(RunRecord record, const std::filesystem::path& journal,
                           const std::filesystem::path& file,
                           const std::vector<Baseline>& baselines,
                           const std::vector<std::string>& left_out) {
  RunResult result;
  try {
    result = make_run_result(std::move(record), baselines, left_out);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", journal.string(), error.what()));
  }
  write_checked(result, file);
  return result;
}

}  // namespace assay
