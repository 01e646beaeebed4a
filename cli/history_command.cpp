#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "analysis/history/history.hpp"
#include "analysis/load.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/guard.hpp"
#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/programs.hpp"
#include "runner/run/run.hpp"

namespace assay {

namespace {

std::optional<TextPattern> row_pattern(const Arguments& arguments) {
  const auto text = read_value(arguments, "filter");
  if (!text) return std::nullopt;
  return TextPattern(*text, "--filter " + *text);
}

/// The id of the run of --value-from, which may be given by its folder: relative to DIR, or as a
/// path.
std::optional<std::string> run_to_promote(const Arguments& arguments, const Results& results) {
  const auto value = read_value(arguments, "value-from");
  if (!value) return std::nullopt;
  const std::filesystem::path history = *read_value(arguments, "DIR");
  for (const NamedResult& result : results) {
    const auto folder = std::filesystem::path(result.name).parent_path();
    for (const std::filesystem::path& named : {std::filesystem::path(*value), history / *value})
      if (std::error_code none; std::filesystem::equivalent(folder, named, none))
        return result.run().id;
  }
  return value;
}

/// Writes the decision of --promote or --reset; nothing is judged.
int decide(const Arguments& arguments, const Results& results, const History& history,
           const Anchors& anchors) {
  const auto owner = read_value(arguments, "owner"), reason = read_value(arguments, "reason");
  const auto promoted = read_value(arguments, "promote"), reset = read_value(arguments, "reset");
  if (promoted && reset)
    throw InputError(
        "--promote and --reset exclude each other (each is a separate decision). Give either.");
  for (const auto& [flag, value] : {std::pair{"--owner", owner}, {"--reason", reason}})
    if (!value || value->empty())
      throw InputError(fmt::format(
          "{} is missing (each decision records its owner and its reason). Give both --owner and "
          "--reason.",
          flag));
  const auto promotions = [&] {
    const Installation here = read_installation(executable_folder());
    return anchors.promotions(
        history, {*promoted, run_to_promote(arguments, results), *owner, *reason,
                  arguments.contains("accept-lost"), PromotedBuild{here.programs, here.hash}});
  };
  const std::vector<Anchor> lines =
      promoted ? promotions() : anchors.resets(history, *reset, *owner, *reason);
  anchors.append(lines);
  const auto without_build = std::ranges::count_if(
      lines, [](const Anchor& line) { return line.event == "promote" && !line.build; });
  if (without_build > 0)
    std::cerr << fmt::format(
        "assay: {} of the promotions do not record a build, so suspects cannot be confirmed (the "
        "last run was made by another build than {}). Use the assay of the build that made it, or "
        "promote a run of this build with --value-from.\n",
        without_build, executable_folder().string());
  const auto suspects = std::ranges::count_if(history.series, [&](const RowHistory& series) {
    return series.verdict.state == "suspect" && std::ranges::any_of(lines, [&](const Anchor& line) {
             return line.event == "promote" && line.id == series.id;
           });
  });
  if (suspects > 0)
    std::cerr << fmt::format(
        "assay: {} of the promoted rows {} suspect: the new level may hide a slowdown. Confirm "
        "first (assay history … --confirm RUN), or promote an earlier run with --value-from.\n",
        suspects, suspects == 1 ? "is" : "are");
  std::cerr << fmt::format("assay: wrote {} {}{} to {}\n", lines.size(),
                           promoted ? "promotion" : "reset", lines.size() == 1 ? "" : "s",
                           anchors.file().string());
  return static_cast<int>(ExitCode::ok);
}

/// Confirms the suspects of every run that is the last one of a suspect series. The build of
/// --confirm is the promoted build.
void confirm_suspects(History& history, const Anchors& anchors, const Results& results,
                      const Arguments& arguments) {
  const auto programs = check_executable_folder(*read_value(arguments, "confirm"), "--confirm");
  std::set<std::string> runs;
  for (const RowHistory& series : history.series)
    if (series.verdict.state == "suspect") runs.insert(series.points.back().run);
  if (runs.empty()) std::cerr << "assay history: no series is suspect, so nothing was launched.\n";
  for (const NamedResult& result : results) {
    if (!runs.contains(result.run().id)) continue;
    ConfirmRequest request = confirm_request(result, read_value(arguments, "launcher"));
    request.build = programs;
    confirm(history, anchors, request);
  }
}

/// InputError for flags that exclude each other or have no effect.
void check_flags(const Arguments& arguments, bool deciding) {
  for (const char* flag : {"owner", "reason", "value-from", "accept-lost"})
    if (arguments.contains(flag) && !deciding)
      throw InputError(fmt::format(
          "--{} has no effect without --promote or --reset. Give either of them.", flag));
  if (deciding)
    refuse_flags(arguments, {"tolerance", "format", "out", "junit", "launcher"},
                 arguments.contains("promote") ? "--promote" : "--reset", "nothing is judged");
  if (arguments.contains("reset"))
    refuse_flags(arguments, {"value-from", "accept-lost"}, "--reset", "nothing is promoted");
  if (deciding && arguments.contains("confirm"))
    throw InputError(
        "--confirm excludes --promote and --reset (it judges, they decide). Give either.");
  if (arguments.contains("launcher") && !arguments.contains("confirm"))
    throw InputError(
        "--launcher has no effect without --confirm (nothing is executed). Give both.");
}

int judge_runs(const Arguments& arguments) {
  const std::string format =
      read_choice(arguments, "format", {"terminal", "markdown", "json", "csv"});
  const std::optional<double> tolerance = read_number(arguments, "tolerance", 0, 10);
  const bool deciding = arguments.contains("promote") || arguments.contains("reset");
  check_flags(arguments, deciding);
  std::optional<double> since;
  if (const auto text = read_value(arguments, "since")) since = parse_time(*text, "--since");
  const std::filesystem::path folder = *read_value(arguments, "DIR"),
                              events = folder / "events.json";
  check_outputs(arguments, {"out", "junit"},
                {folder.string(), events.string(), (folder / "anchors.jsonl").string()});

  if (!std::filesystem::is_directory(folder))
    throw InputError(fmt::format(
        "{} is not a folder (a history is a folder with the results of many runs below it). Give "
        "such a folder.",
        folder.string()));
  Results results = load_results({folder.string()});
  for (NamedResult& result : results)
    if (result.name.empty()) result.name = (folder / "result.json").string();
  History history = collect_history(results, row_pattern(arguments), since);
  const Anchors anchors(folder);
  if (deciding) return decide(arguments, results, history, anchors);
  history = judge_history(std::move(history), anchors, read_events(events), tolerance);
  history.command = command_line("assay history", {"DIR"}, arguments);
  if (arguments.contains("confirm")) {
    try {
      confirm_suspects(history, anchors, results, arguments);
    } catch (const UnfinishedRun& end) {
      std::cerr << "assay history: " << end.what() << "\n";
      return static_cast<int>(ExitCode::failed);
    }
  } else {
    recall_answers(history, anchors, results);
  }
  const nlohmann::json document = history;
  check_own(document, "history");
  for (const std::string& doubt : find_order_doubts(results, history))
    std::cerr << "assay history: " << visible(doubt) << ".\n";
  if (const auto file = read_value(arguments, "junit"))
    write_text(*file, render_history_junit(history));
  emit(arguments, format == "json"  ? document.dump(1) + "\n"
                  : format == "csv" ? render_history_csv(history)
                                    : render_history(history, format == "markdown"));
  if (history.series.empty())
    std::cerr << "assay: nothing was judged (no row of a run with a time matches --filter and "
                 "--since).\n";
  return static_cast<int>(history.code);
}

}  // namespace

Command history_command() {
  return {
      "history",
      "Judge the results of many runs: change points, drift, anchored and rolling baselines.",
      group_flags(
          {{"Rows",
            {{"DIR", "folder with results somewhere below it, events.json, anchors.jsonl", "DIR",
              "", true},
             {"--filter", "judge only rows whose id matches", "REGEX", "all"},
             {"--since", "judge only runs since then (2026-11-21, or RFC 3339 in UTC)", "TIME",
              "all"}}},
           {"Judgement",
            {{"--tolerance", "relative slowdown that is accepted", "X", "the suite's, else 0.05"},
             {"--confirm",
              "measure suspects again, alternately with the promoted build (its folder, or its "
              "program assay) and with this one",
              "BUILD"},
             {"--launcher",
              "with --confirm: command prefix for every executable, e.g. \"mpirun -n 2\"",
              "COMMAND"}}},
           {"Baselines",
            {{"--promote",
              "make the latest level of this row its anchored baseline (all: of every row)", "ID"},
             {"--reset", "withdraw the anchored baseline of this row (all: of every row)", "ID"},
             {"--owner", "with --promote, --reset: person who is responsible", "NAME"},
             {"--reason", "with --promote, --reset: why the baseline changes", "TEXT"},
             {"--value-from",
              "with --promote: promote the value and the build of this run (its folder or id)",
              "RUN", "the latest runs"},
             {"--accept-lost", "with --promote: accept that rows have no result any more"}}},
           {output_group,
            {{"--junit", "write JUnit XML of the last runs to this file", "FILE"},
             format_flag({"terminal", "markdown", "json", "csv"}),
             out_flag()}}}),
      &judge_runs,
      {{"assay history results", "judges the runs below results/"},
       {"assay history results --format json --out history.json",
        "writes the judgement for `assay report`"},
       {"assay history results --promote all --owner \"A. Name\" --reason \"accepted in week 8\"",
        "makes the latest level of every row its anchored baseline, measured by this build"},
       {"assay history results --confirm promoted",
        "measures suspects again, with the promoted build in the folder promoted/"}},
      "0 nothing is slower or lost, 2 bad usage or input, 3 incorrect numerics, 4 slower, 6 a "
      "number was lost or nothing was judged, 7 failed or timed out, 8 a suspect could not be "
      "confirmed, 9 a training missed its target"};
}

}  // namespace assay
