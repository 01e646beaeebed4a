#include "analysis/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "analysis/parts.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/machine/environment.hpp"
#include "core/result/baseline.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Plans, suites and comparisons may be in the same folder as results.
bool is_result(const fs::path& file) {
  if (file.filename() == "result.json") return true;
  const nlohmann::json document = read_head(file);
  return document.is_object() && read_field(document, "schema").starts_with("assay-result/");
}

/// True if this is the name of a shipped baseline, and no file has this name.
bool is_baseline(const std::string& name) {
  const std::vector<std::string> names = list_baseline_names();
  return !fs::exists(name) && std::find(names.begin(), names.end(), name) != names.end();
}

/// True if this is the folder of an unfinished run. Its files look like results, but are only rows
/// of ceilings and parts of later rows.
bool is_unfinished_run(const fs::path& folder) {
  return fs::exists(folder / "journal.jsonl") && !fs::exists(folder / "result.json");
}

std::vector<fs::path> list_files(const fs::path& name) {
  if (is_baseline(name)) return {baseline_file(name)};
  if (!fs::is_directory(name)) return {name};
  if (fs::exists(name / "result.json")) return {name / "result.json"};
  if (is_unfinished_run(name))
    throw InputError(
        fmt::format("{} has no result (its run has not ended: there is a journal, but no "
                    "result.json). Continue it by the same `assay run` with --resume.",
                    name.string()));
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(name); entry != fs::end(entry);
       next_entry(entry)) {
    // `assay collect` leaves a hidden folder while it is unfinished.
    const bool hidden = entry->path().filename().string().starts_with(".");
    if (entry->is_directory() && !hidden && fs::exists(entry->path() / "result.json")) {
      files.push_back(entry->path() / "result.json");
      entry.disable_recursion_pending();  // the plans in it are not results
    } else if (entry->is_directory() && (hidden || is_unfinished_run(entry->path()))) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && entry->path().extension() == ".json" &&
               is_result(entry->path())) {
      files.push_back(entry->path());
    }
  }
  if (files.empty())
    throw InputError(
        fmt::format("{} contains no results (no result.json, no file with the schema "
                    "assay-result). Give the folder of a run, or make one with `assay run`.",
                    name.string()));
  std::sort(files.begin(), files.end());
  return files;
}

struct NamedFile {
  std::string name;  ///< name of the result, unless it is the only one
  fs::path file;
};

std::vector<NamedFile> name_files(const std::vector<std::string>& names) {
  std::vector<NamedFile> files;
  std::set<fs::path> seen;
  for (const std::string& name : names) {
    if (fs::path(name).filename() == "anchors.jsonl")
      throw InputError(name +
                       " is the record of promotions, not a result. Give folders of runs, or the "
                       "folder that they are in.");
    for (const fs::path& file : list_files(name)) {
      if (!seen.insert(fs::weakly_canonical(file)).second)
        throw InputError(fmt::format(
            "{} is given twice (its rows would count twice). Give it once.", file.string()));
      const bool whole =
          is_baseline(name) || (fs::is_directory(name) && file == fs::path(name) / "result.json");
      files.push_back({whole ? name : file.string(), file});
    }
  }
  return files;
}

}  // namespace

void next_entry(fs::recursive_directory_iterator& entry) {
  const fs::path last = entry->path();
  std::error_code error;
  entry.increment(error);
  if (error) throw fs::filesystem_error("cannot be read", last, error);
}

void keep_median_and_marks(Row& row) {
  if (!row.time_s) return;
  const RowTime& time = *row.time_s;
  row.time_s = RowTime{.median = time.median,
                       .foreign = time.foreign,
                       .own = time.own,
                       .waiting = time.waiting,
                       .stolen = time.stolen,
                       .throttled = time.throttled,
                       .held = time.held};
}

Row take_case_and_time(Row& row) {
  keep_median_and_marks(row);
  return {.id = std::move(row.id),
          .names = std::move(row.names),
          .benchmark = std::move(row.benchmark),
          .problem = std::move(row.problem),
          .environment = row.environment,
          .launch = row.launch,
          .attempt = row.attempt,
          .required = row.required,
          .parameters = std::move(row.parameters),
          .tolerance = row.tolerance,
          .status = std::move(row.status),
          .reason = std::move(row.reason),
          .execution = std::move(row.execution),
          .time_s = std::move(row.time_s),
          .device_state = std::move(row.device_state),
          .published = row.published,
          .incomparable = std::move(row.incomparable)};
}

std::vector<fs::path> list_result_files(const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  for (NamedFile& named : name_files(names)) files.push_back(std::move(named.file));
  return files;
}

Results load_results(const std::vector<std::string>& names) {
  return load_results(names, [](Row& row, std::string_view, const RunResult&) {
    row.samples_s = {};  // most of a file; after the check, time_s summarises them
    return true;
  });
}

Results load_results(const std::vector<std::string>& names, const KeepRow& keep) {
  const std::vector<NamedFile> files = name_files(names);
  Results read(files.size()), results;
  const auto threads = static_cast<std::size_t>(processors());
  const std::size_t each = files.size() >= threads ? 1 : threads;
  parallel_for(files.size(), each == 1 ? threads : 1, [&](std::size_t i) {
    read[i] = {files[i].name, read_result_rows(files[i].file, keep, each)};
  });
  for (NamedResult& named : read) add_parts(std::move(named), results);
  if (results.size() == 1) results.front().name.clear();
  return results;
}

void expect_one_statistics(const Results& results) {
  const NamedResult* first = nullptr;
  for (const NamedResult& named : results) {
    const auto measured = [](const Row& row) { return row.is_ok() && !row.published; };
    if (std::ranges::none_of(named.rows(), measured)) continue;
    if (first == nullptr) first = &named;
    const int was = first->run().statistics, is = named.run().statistics;
    if (was != is)
      throw InputError(fmt::format(
          "{} has version {} of the statistics, {} has version {} (other estimators give other "
          "numbers for the same samples). Name results of one version.",
          first->name, was, named.name, is));
  }
}

}  // namespace assay
