#include "cli/guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "analysis/history/history.hpp"
#include "analysis/load.hpp"
#include "analysis/text_table.hpp"
#include "cli/confirm_request.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool holds_results(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; next_entry(entry))
    if (entry->path().filename() == "result.json") return true;
  return false;
}

std::vector<NamedResult> results_with(const fs::path& history, const json& result,
                                      const fs::path& file) {
  std::vector<NamedResult> results;
  if (holds_results(history)) results = load_results({history.string()});
  const bool within = std::any_of(results.begin(), results.end(), [&](const NamedResult& named) {
    return named.result.at("run").at("id") == result.at("run").at("id");
  });
  if (!within) results.push_back({file.string(), result});
  return results;
}

/// The series of `run`, which is the last of them; the others belong to other machines or suites.
Histories series_of(Histories all, const std::string& run) {
  std::erase_if(all.series, [&](const RowHistory& series) {
    return (series.points.empty() || series.points.back().run != run) &&
           (series.gaps.empty() || series.gaps.back().run != run);
  });
  return all;
}

/// The rows of the run that have no number to judge, each with the reason: they are in no series,
/// or their result is none. Rows that are unsupported are not among them (see `lost`).
std::map<std::string, std::string> unjudged_rows(const Histories& histories, const json& result,
                                                 const std::string& name) {
  const std::map<std::string, std::string> passed_over(histories.passed_over.begin(),
                                                       histories.passed_over.end());
  std::map<std::string, std::string> unjudged;
  for (const json& row : result.at("rows")) {
    if (row.value("published", false)) continue;
    const std::string id = row.at("id");
    unjudged[id] = "it is in no series of this run";
    for (const std::string& what : {name, name + ": " + id})
      if (const auto found = passed_over.find(what); found != passed_over.end())
        unjudged[id] = found->second;
  }
  for (const RowHistory& series : histories.series) {
    unjudged.erase(series.id);
    if (last_run_code(series) != ExitCode::ok)
      unjudged[series.id] = series.gaps.back().status + ": " + series.gaps.back().reason;
  }
  return unjudged;
}

void print_findings(const json& document, const std::map<std::string, std::string>& unjudged) {
  for (const auto& [id, reason] : unjudged)
    std::cout << fmt::format("guard: {}: not judged: {}\n", visible(id), visible(reason));
  std::size_t too_short = 0, without_result = 0;
  std::string runs;
  for (const json& series : document["series"]) {
    const std::string state = series["state"], id = visible(series["id"]);
    if (state == "too short") {
      ++too_short;
      runs = series["reason"];
    }
    if (state == "no result") ++without_result;
    if (state == "too short" || state == "no result" || state == "steady") continue;
    std::cout << fmt::format("guard: {}: {}: {}\n", id, state, visible(series["reason"]));
    if (series.contains("confirmation"))
      std::cout << fmt::format("guard: {}: {}: {}\n", id,
                               series["confirmation"]["answer"].get<std::string>(),
                               visible(series["confirmation"]["reason"]));
  }
  if (too_short > 0)
    std::cout << fmt::format("guard: {} of {} series are too short to be judged: {}\n", too_short,
                             document["series"].size(), runs);
  if (without_result > 0)
    std::cout << fmt::format("guard: {} of {} series have no result in any run\n", without_result,
                             document["series"].size());
  std::cout << std::flush;
}

}  // namespace

void check_guard(const fs::path& history) {
  if (fs::exists(history) && !fs::is_directory(history))
    throw InputError(
        fmt::format("--guard {} is not a folder (a history is a folder with the results of many "
                    "runs below it). "
                    "Give this folder, or the name of a new folder.",
                    history.string()));
  if (holds_results(history)) result_files({history.string()});  // all of it can be listed
  Anchors anchors(history);
  events_of(history);
}

ExitCode guard(const fs::path& history, const json& result, const RunPlan& plan) {
  const std::string run = result.at("run").at("id");
  const fs::path file = plan.campaign.folder / "result.json";
  const std::vector<NamedResult> results = results_with(history, result, file);
  const Histories histories =
      series_of(histories_of(results, std::nullopt, std::nullopt, seconds_now(), run), run);
  const Anchors anchors(history);
  HistoryOptions options;
  options.command = plan.command;
  json document = history_document(histories, anchors, events_of(history), options);
  confirm(document, histories, anchors, confirm_request(plan, confirm_folder(file), run));
  const auto own = std::ranges::find_if(
      results, [&](const NamedResult& named) { return named.result.at("run").at("id") == run; });
  const auto unjudged = unjudged_rows(histories, result, shown_name(*own));
  if (!unjudged.empty())
    document["exit_code"] = gravest(document["exit_code"], ExitCode::incomparable);
  check_own(document, "history");
  write_json(plan.campaign.folder / "history.json", document);
  write_text(plan.campaign.folder / "junit.xml", history_junit(document));
  print_findings(document, unjudged);
  return document["exit_code"];
}

}  // namespace assay
