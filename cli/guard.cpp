#include "cli/guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "analysis/compare/verdict.hpp"
#include "analysis/history/history.hpp"
#include "analysis/load.hpp"
#include "analysis/text_table.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/run.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

bool holds_results(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; next_entry(entry))
    if (entry->path().filename() == "result.json") return true;
  return false;
}

Results results_with(const fs::path& history, const RunResult& result, const fs::path& file) {
  Results results;
  if (holds_results(history)) results = load_results({history.string()});
  const bool within = std::ranges::any_of(
      results, [&](const NamedResult& named) { return named.run().id == result.run.id; });
  if (!within) results.push_back({file.string(), result});
  return results;
}

/// Keeps the series whose last run is `run`; the others belong to other machines or suites.
History keep_series(History history, const std::string& run) {
  std::erase_if(history.series, [&](const RowHistory& series) {
    return (series.points.empty() || series.points.back().run != run) &&
           (series.gaps.empty() || series.gaps.back().run != run);
  });
  return history;
}

/// The rows of the run without a number to judge, each with the reason: they are in no series, or
/// have no result. Unsupported rows are not included (see `lost`).
std::map<std::string, std::string> list_unjudged_rows(const History& history,
                                                      const RunResult& result,
                                                      const std::string& name) {
  std::map<std::string, std::string> passed_over, unjudged;
  for (const SkippedSource& passed : history.passed_over)
    passed_over.emplace(passed.what, passed.reason);
  for (const Row& row : result.rows) {
    if (row.published) continue;
    unjudged[row.id] = "it is in no series of this run";
    for (const std::string& what : {name, name + ": " + row.id})
      if (const auto reason = passed_over.find(what); reason != passed_over.end())
        unjudged[row.id] = reason->second;
  }
  for (const RowHistory& series : history.series) {
    unjudged.erase(series.id);
    if (last_run_code(series) != ExitCode::ok)
      unjudged[series.id] = series.gaps.back().status + ": " + series.gaps.back().reason;
  }
  return unjudged;
}

void print_findings(const History& history, const std::map<std::string, std::string>& unjudged) {
  for (const auto& [id, reason] : unjudged)
    std::cout << fmt::format("guard: {}: not judged: {}\n", visible(id), visible(reason));
  std::string runs;
  for (const RowHistory& series : history.series) {
    const std::string &state = series.verdict.state, id = visible(series.id);
    if (state == "too short") runs = series.verdict.reason;
    if (state == "too short" || state == "no result" || state == "steady") continue;
    std::cout << fmt::format("guard: {}: {}: {}\n", id, state, visible(series.describe_reason()));
    if (series.confirmation)
      std::cout << fmt::format("guard: {}: {}: {}\n", id, series.confirmation->answer,
                               visible(series.confirmation->reason));
  }
  const std::size_t all = history.series.size();
  if (const std::size_t too_short = history.count("too short"); too_short > 0)
    std::cout << fmt::format("guard: {} of {} series {} too short to be judged: {}\n", too_short,
                             all, by_count(too_short, "is", "are"), runs);
  if (const std::size_t without = history.count("no result"); without > 0)
    std::cout << fmt::format("guard: {} of {} series {} no result in any run\n", without, all,
                             by_count(without, "has", "have"));
  std::cout << std::flush;
}

}  // namespace

void check_guard(const fs::path& history) {
  if (fs::exists(history) && !fs::is_directory(history))
    throw InputError(
        fmt::format("--guard {} is not a folder (a history is a folder with the results of many "
                    "runs below it). Give this folder, or the name of a new folder.",
                    history.string()));
  if (holds_results(history))
    list_result_files({history.string()});  // checks that all of it can be
                                            // listed
  Anchors anchors(history);
  read_events(history / "events.json");
}

ExitCode guard(const fs::path& history_folder, const RunResult& result, const RunPlan& plan) {
  const std::string& run = result.run.id;
  const fs::path file = plan.campaign.folder / "result.json";
  const Results results = results_with(history_folder, result, file);
  const Anchors anchors(history_folder);
  History history = judge_history(
      keep_series(collect_history(results, std::nullopt, std::nullopt, seconds_now(), run), run),
      anchors, read_events(history_folder / "events.json"));
  history.command = plan.command;
  confirm(history, anchors, confirm_request(plan, confirm_folder(file), run));
  const auto own = std::ranges::find_if(
      results, [&](const NamedResult& named) { return named.run().id == run; });
  const auto unjudged = list_unjudged_rows(history, result, name_result(*own));
  if (!unjudged.empty()) history.code = find_gravest(history.code, ExitCode::incomparable);
  const nlohmann::json document = history;
  check_own(document, "history");
  write_json(plan.campaign.folder / "history.json", document);
  write_text(plan.campaign.folder / "junit.xml", render_history_junit(history));
  print_findings(history, unjudged);
  return history.code;
}

ConfirmRequest confirm_request(const RunPlan& plan, const fs::path& folder,
                               const std::string& run) {
  ConfirmRequest request;
  request.new_build = plan.programs;
  request.folder = folder;
  request.run = run;
  request.compute_hash = [](const fs::path& programs) {
    return list_benchmark_names(programs).empty() ? std::string()
                                                  : read_installation(programs).hash;
  };
  request.launch = [plan](const fs::path& promoted, const std::vector<std::string>& ids,
                          const fs::path& into) {
    RunPlan before = plan;
    before.programs = promoted;
    return run_again({{"promoted", before, ids}, {"new", plan, ids}}, fresh_launches, into,
                     "assay history --confirm");
  };
  return request;
}

ConfirmRequest confirm_request(const NamedResult& result,
                               const std::optional<std::string>& launcher) {
  AllowedPrograms chosen;
  chosen.advice = "use the assay of that build";
  chosen.launcher = launcher;
  const RunPlan plan = plan_of_result(result.result, chosen);
  const fs::path file = result.name;
  if (file.filename() != "result.json")
    throw InputError(fmt::format(
        "{} is not in the folder of its run (the confirming launches are written next to its "
        "result.json). Keep the folders of runs as `assay run` writes them.",
        result.name));
  return confirm_request(plan, confirm_folder(file), result.run().id);
}

}  // namespace assay
