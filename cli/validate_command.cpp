#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/accept/criteria.hpp"
#include "analysis/ensemble/ensemble.hpp"
#include "analysis/history/anchors.hpp"
#include "analysis/scaling/input.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/error.hpp"
#include "core/base/message.hpp"
#include "core/base/paths.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/program/suite.hpp"
#include "core/program/terminal.hpp"
#include "core/result/row_reader.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/launcher.hpp"
#include "runner/launch/programs.hpp"
#include "runner/launch/site.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace {

/// Checks what no schema knows: the existing benchmarks, their dimensions and values, and the
/// baselines. Returns the number of cases.
std::size_t check_suite(const std::filesystem::path& file) {
  const nlohmann::json suite = read_suite(file);
  check_suite_names(suite, file, executable_folder());
  prepare_parent();
  const Temporary scratch = make_scratch_folder();
  std::size_t cases = 0;
  for (const std::string& name : suite_benchmarks(suite))
    cases += read_listing(find_executable(name), std::filesystem::absolute(file), {},
                          scratch.path() / name, std::chrono::seconds(60))
                 .cases.size();
  return cases;
}

/// Reduces a checked row to the fields that the report of `validate` counts.
bool keep_kind(Row& row, std::string_view, const RunResult&) {
  Row kind;
  kind.status = row.status;
  kind.published = row.published;
  row = std::move(kind);
  return true;
}

/// A text about the estimates of a result that its reader has recomputed.
std::string describe_statistics(const RunResult& result) {
  if (std::ranges::none_of(result.rows,
                           [](const Row& row) { return row.is_ok() && !row.published; }))
    return "";  // no samples
  const int version = result.run.statistics;
  if (version == statistics_version)
    return fmt::format(", statistics of version {} recomputed", version);
  return fmt::format(", statistics of version {} not recomputed (this Assay has version {})",
                     version, statistics_version);
}

/// Reads a file with the reader of the commands that use such files, because this reader checks
/// more than a schema (regular expressions, times, names of algorithms).
void read_as(const std::string& kind, const std::filesystem::path& file) {
  const std::string name = file.string();
  const bool named_json = name.ends_with(".json");  // otherwise it would be the name of a shipped
                                                    // file
  if (kind == "criteria")
    read_criteria(file);
  else if (kind == "scale")
    scaling::read_scale_input(file);
  else if (kind == "events")
    read_events(file);
  else if (kind == "launcher" && named_json)
    Launcher::load(name);
  else if (kind == "site" && named_json)
    Site::load(name);
  else
    read_checked(file, kind);
}

/// A description of a valid file: "assay-result/1, 12 rows". InputError for an invalid file.
std::string validate_file(std::filesystem::path file) {
  if (std::filesystem::is_directory(file) && std::filesystem::exists(file / "result.json"))
    file /= "result.json";
  const nlohmann::json document = read_head(file);
  const nlohmann::json schema =
      document.is_object() ? document.value("schema", nlohmann::json()) : nlohmann::json();
  if (!schema.is_string())
    throw InputError(fmt::format(
        "{} at /schema: found {}, expected the name of a schema, like \"assay-result/1\".",
        file.string(), schema.is_null() ? "nothing" : schema.dump()));
  const std::string name = schema.get<std::string>();
  const std::string kind = name.substr(0, name.find('/'));
  if (kind == "assay-result") {
    const RunResult result =
        read_result_rows(file, keep_kind, static_cast<std::size_t>(processors()));
    std::string more = describe_statistics(result);
    if (result.run.rest.contains(ensemble_field)) {
      read_ensemble(read_result(file), file.string());  // with the numbers of the rows
      more += ", ranking and models an hour recomputed";
    }
    return fmt::format("{}, {}{}", name, format_count(result.rows.size(), "row"), more);
  }
  if (kind == "assay-suite")
    return fmt::format("{}, {}", name, format_count(check_suite(file), "case"));
  if (kind == "assay-problems")
    return fmt::format(
        "{}, {}", name,
        format_count(read_checked(file, "problems").at("problems").size(), "problem"));
  std::vector<std::string> known;
  for (const std::string& name : list_json_names(data_folder("results-schema")))
    if (name.ends_with(".schema")) known.push_back("assay-" + name.substr(0, name.rfind('.')));
  if (std::find(known.begin(), known.end(), kind) == known.end())
    throw InputError(fmt::format("{} at /schema: {}", file.string(),
                                 explain_unknown_name("schema", kind, known)));
  read_as(kind.substr(std::string("assay-").size()), file);
  return name;
}

int validate(const Arguments& arguments) {
  bool good = true;
  const std::string ok = add_colour("ok", colour_wanted(STDOUT_FILENO));
  for (const std::string& file : read_values(arguments, "FILE")) {
    try {
      std::cout << fmt::format("{}: {} ({})\n", file, ok, validate_file(file)) << std::flush;
    } catch (const InputError& error) {
      good = false;
      std::cerr << "assay: " << message_text(error.what()) << std::endl;
    } catch (const Interruption&) {
      return static_cast<int>(ExitCode::failed);
    }
    // The check of a suite blocks signals, so SIGINT has no effect before this call.
    if (wait_for_signal(std::chrono::milliseconds(0)) != 0)
      return static_cast<int>(ExitCode::failed);
  }
  return static_cast<int>(good ? ExitCode::ok : ExitCode::usage);
}

}  // namespace

Command validate_command() {
  return {"validate",
          "Check files of Assay against their schemas, and suites against the benchmarks.",
          {{"FILE", "file, or the folder of a run", "FILE", "", true, true}},
          &validate,
          {{"assay validate results/today", "checks the result of a run"}}};
}

}  // namespace assay
