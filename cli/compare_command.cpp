#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <iostream>
#include <set>
#include <string_view>

#include "analysis/compare/comparison.hpp"
#include "analysis/compare/side.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/base/text.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "runner/run/run.hpp"

namespace assay {

using nlohmann::json;

namespace {

const std::vector<std::string> variations = {"software", "hardware", "precision", "backend",
                                             "nothing"};
const std::vector<std::string> comparison_formats = {"terminal", "markdown", "latex", "csv",
                                                     "json"};
/// The names of the sides, for folders of fresh launches and for progress lines.
const std::vector<std::string> side_names = {"base", "new"};

/// The options that choose the rows of the sides.
struct Choice {
  Variation vary{};
  std::vector<Selection> selections{};  ///< rows of base and of new, if both are in one result
  std::vector<std::string> filter{};
};

Results read_rows(const std::string& name, const std::vector<std::string>& filter) {
  return filter_rows(load_results({name}, keep_for_comparison), filter);
}

/// Creates side 0 (base) or 1 (new) from these results.
Side make_side(const std::string& name, Results results, const Choice& choice, std::size_t side) {
  if (choice.selections.empty()) return {name, std::move(results), choice.vary};
  const Selection& selection = choice.selections[side];
  return {fmt::format("{} ({})", name, selection.text()),
          select_rows(std::move(results), selection), choice.vary};
}

/// Reads both sides, each in its own thread, because reading and checking the files takes most of
/// the time.
std::vector<Side> read_sides(const std::string& base, const std::string& updated,
                             const Choice& choice) {
  std::vector<std::future<Side>> reading;
  for (const std::string& name : {base, updated})
    reading.push_back(std::async(std::launch::async, [&, name, side = reading.size()] {
      return make_side(name, read_rows(name, choice.filter), choice, side);
    }));
  std::vector<Side> sides;
  for (std::future<Side>& side : reading) sides.push_back(side.get());
  return sides;
}

/// The two sides of one result: --base and --new choose their rows. Completes `choice`.
std::vector<Side> read_one_result(const Arguments& arguments, Choice& choice) {
  const std::string name = *read_value(arguments, "BASE");
  for (const char* flag : {"base", "new"})
    choice.selections.emplace_back(std::string("--") + flag, read_values(arguments, flag));
  Results results = read_rows(name, choice.filter);
  if (results.size() == 1) results.front().name = name;  // the sides have longer names
  choice.vary = find_variation(choice.selections[0], choice.selections[1], results);
  std::vector<Side> sides;
  for (const std::size_t side : {0, 1}) sides.push_back(make_side(name, results, choice, side));
  return sides;
}

/// The programs and the launcher that the caller allows for a side.
AllowedPrograms choose_executables(const Arguments& arguments, const std::string& flag) {
  AllowedPrograms chosen;
  chosen.advice = "name their build with --" + flag;
  if (const auto build = read_value(arguments, flag)) chosen.programs = *build;
  chosen.launcher = read_value(arguments, "launcher");
  return chosen;
}

/// Runs the flagged rows of both sides again with the settings of their runs, interleaving the
/// sides; the results are in `folder`.
std::vector<Side> launch_flagged(const Comparison& comparison, const std::vector<Side>& sides,
                                 const Variation& vary, const std::string& folder,
                                 const Arguments& arguments) {
  std::vector<RepeatedSide> again;
  for (const Side& side : sides) {
    if (side.results().size() != 1)
      throw InputError(
          fmt::format("--confirm repeats a single run of each side ({} has {} results). Give the "
                      "folders of two runs, or use --flagged, --fresh-base and --fresh-new.",
                      side.name(), side.results().size()));
    const std::string& name = side_names[again.size()];
    again.push_back({name,
                     plan_of_compared(side.results().front().result,
                                      choose_executables(arguments, name + "-build")),
                     list_flagged_ids(comparison, side)});
  }
  std::vector<Side> fresh;
  for (RunResult& result :
       run_again(std::move(again), fresh_launches, folder, "assay compare --confirm")) {
    const std::string name = fmt::format("{}/{}", folder, side_names[fresh.size()]);
    Results results;
    results.push_back({name, std::move(result)});
    fresh.emplace_back(name, std::move(results), vary);
  }
  return fresh;
}

void check_files(const Arguments& arguments) {
  std::vector<std::string> inputs;
  for (const char* flag : {"BASE", "NEW", "fresh-base", "fresh-new"})
    if (const auto name = read_value(arguments, flag)) inputs.push_back(*name);
  check_outputs(arguments, {"out", "flagged"}, inputs);
  if (const auto folder = read_value(arguments, "confirm"))
    for (const std::string& side : side_names) {
      const std::filesystem::path result = std::filesystem::path(*folder) / side / "result.json";
      if (std::filesystem::exists(result)) check_no_input("--confirm", result, inputs);
    }
  for (const char* flag : {"base-build", "new-build", "launcher"})
    if (arguments.contains(flag) && !arguments.contains("confirm"))
      throw InputError(fmt::format(
          "--{} has no effect without --confirm (nothing is executed). Give both.", flag));
}

/// The command line, quoted for a shell, with additional values of --base and --new. It omits the
/// flags for files and launches that belong to one command.
std::string make_command(const Arguments& arguments, const MorePairs& more = {}) {
  constexpr std::string_view of_one_command[] = {"confirm", "flagged",    "out",
                                                 "junit",   "fresh-base", "fresh-new"};
  std::string command = "assay compare";
  for (const char* name : {"BASE", "NEW"})
    if (const auto value = read_value(arguments, name)) command += " " + shell_word(*value);
  for (const auto& [flag, values] : arguments)
    if (flag != "BASE" && flag != "NEW" &&
        (more.base.empty() ||
         std::ranges::find(of_one_command, flag) == std::end(of_one_command))) {
      std::vector<std::string> words = values;
      const auto& added = flag == "base" ? more.base : more.updated;
      if (flag == "base" || flag == "new") words.insert(words.end(), added.begin(), added.end());
      command += " --" + flag + (words.front().empty() ? "" : " " + shell_word(join(words, ",")));
    }
  return command;
}

CompareOptions read_options(const Arguments& arguments) {
  CompareOptions options;
  options.command = make_command(arguments);
  options.tolerance = read_number(arguments, "tolerance", 0, 10);
  options.false_alarm_rate =
      read_number(arguments, "false-alarm-rate", 1e-9, 0.5).value_or(options.false_alarm_rate);
  options.allow_mismatch = arguments.contains("allow-mismatch");
  return options;
}

void check_fresh_flags(const Arguments& arguments) {
  if (arguments.contains("fresh-base") != arguments.contains("fresh-new"))
    throw InputError(
        "--fresh-base and --fresh-new need each other (fresh launches of both sides are compared). "
        "Give both.");
  if (arguments.contains("fresh-base") && arguments.contains("confirm"))
    throw InputError(
        "--confirm excludes --fresh-base and --fresh-new (it makes the fresh launches itself). "
        "Give either.");
}

/// The sides: two results and --vary, or one result and --base and --new.
void check_sides(const Arguments& arguments) {
  const bool chosen = arguments.contains("base") || arguments.contains("new");
  if (arguments.contains("base") != arguments.contains("new"))
    throw InputError(
        "--base and --new need each other (each chooses the rows of a side of one result). Give "
        "both, like --base backend=onednn --new backend=native.");
  if (chosen && arguments.contains("NEW"))
    throw InputError(
        "--base and --new exclude NEW (they choose both sides from one result). Leave NEW out, or "
        "say by --vary what differs between two results.");
  if (chosen)
    refuse_flags(arguments, {"vary"}, "--base and --new", "these name what is meant to differ");
  else if (!arguments.contains("NEW"))
    throw InputError(
        "NEW is missing (two results are compared). Give BASE and NEW, or two sides of one result, "
        "like --base backend=onednn --new backend=native.");
  else if (!arguments.contains("vary"))
    throw InputError(fmt::format("--vary is missing (what is meant to differ). Give one of {}.",
                                 join(variations, ", ")));
}

void write_flagged(const std::string& file, const Comparison& comparison,
                   const std::vector<Side>& sides) {
  std::set<std::string> ids;
  for (const Side& side : sides)
    for (std::string& id : list_flagged_ids(comparison, side)) ids.insert(std::move(id));
  write_json(file, ids);
}

/// Reports on stderr why the comparison has no rows, and what to do about fields that differ. No
/// value of --vary permits other settings of a run.
void explain_no_rows(const Comparison& comparison, bool one_result) {
  const std::string &base = comparison.base.name, &updated = comparison.updated.name;
  const std::vector<Mismatch>& mismatches = comparison.mismatches;
  if (!comparison.refused) {
    if (comparison.rows.empty())
      std::cerr << fmt::format("assay: {} and {} have no comparable rows.\n", base, updated);
    return;
  }
  const bool runs_differ = std::ranges::any_of(mismatches, [](const Mismatch& mismatch) {
    return ("/" + mismatch.field).find("/run/") != std::string::npos;
  });
  std::cerr << fmt::format(
      "assay: {} and {} are not comparable ({}{}). {}\n", base, updated, mismatches[0].field,
      mismatches.size() == 1 ? " was not meant to differ"
                             : fmt::format(" and {} were not meant to differ",
                                           format_count(mismatches.size() - 1, "other field")),
      runs_differ
          ? "Repeat one of the runs with suite and flags of the other, or use --allow-mismatch."
      : one_result ? "Choose sides with the same software and hardware, or use --allow-mismatch."
                   : "State with --vary what is meant to differ, or use --allow-mismatch.");
}

/// Reports on stderr which sides would pair more rows, if other parameters may differ between them,
/// too.
void suggest_more_pairs(const Arguments& arguments, const std::vector<Side>& sides,
                        const Comparison& comparison, const Variation& vary) {
  const std::vector<MorePairs> pairs = find_more_pairs(sides[0], sides[1], vary);
  if (pairs.empty()) return;
  std::cerr << fmt::format(
      "assay: {} {} compared, because more differs between the sides. To compare more:\n",
      format_count(comparison.rows.size(), "row"), by_count(comparison.rows.size(), "was", "were"));
  for (const MorePairs& more : pairs)
    std::cerr << fmt::format(
        "{}, whose {} {}:\n  {}\n", format_count(more.rows, "row"), join(more.names, " and "),
        by_count(more.names.size(), "differs", "differ"), make_command(arguments, more));
}

int compare(const Arguments& arguments) {
  check_sides(arguments);
  CompareOptions options = read_options(arguments);
  Choice choice{.filter = read_values(arguments, "filter")};
  const bool one_result = arguments.contains("base");
  if (!one_result) choice.vary = read_choice(arguments, "vary", variations);
  const std::string format = read_choice(arguments, "format", comparison_formats);
  check_fresh_flags(arguments);
  check_files(arguments);

  const std::vector<Side> sides = one_result ? read_one_result(arguments, choice)
                                             : read_sides(*read_value(arguments, "BASE"),
                                                          *read_value(arguments, "NEW"), choice);
  options.vary = choice.vary;
  std::vector<Side> fresh;
  if (const auto fresh_base = read_value(arguments, "fresh-base"))
    fresh = read_sides(*fresh_base, *read_value(arguments, "fresh-new"), choice);
  const auto compare_now = [&] {
    return compare_sides(sides[0], sides[1], fresh.empty() ? nullptr : &fresh[0],
                         fresh.empty() ? nullptr : &fresh[1], options);
  };
  Comparison comparison = compare_now();
  const std::size_t unconfirmed = comparison.summary.at("needs_confirmation");
  if (const auto folder = read_value(arguments, "confirm"); folder && unconfirmed > 0) {
    std::cerr << fmt::format("assay compare: {} {} flagged; starting {} + {} fresh launches.\n",
                             format_count(unconfirmed, "row"), by_count(unconfirmed, "is", "are"),
                             fresh_launches, fresh_launches);
    try {
      fresh = launch_flagged(comparison, sides, options.vary, *folder, arguments);
    } catch (const UnfinishedRun& end) {
      std::cerr << fmt::format("assay compare: {}\n", end.what());
      return static_cast<int>(ExitCode::failed);
    }
    comparison = compare_now();
  }
  const json document = comparison;
  check_own(document, "comparison");
  if (const auto file = read_value(arguments, "flagged")) write_flagged(*file, comparison, sides);
  emit(arguments, format == "json"  ? document.dump(1) + "\n"
                  : format == "csv" ? render_comparison_csv(comparison)
                                    : render_comparison(comparison, sides[0], sides[1],
                                                        format == "markdown", format == "latex"));
  explain_no_rows(comparison, one_result);
  if (one_result && !comparison.refused)
    suggest_more_pairs(arguments, sides, comparison, choice.vary);
  return static_cast<int>(comparison.exit_code);
}

}  // namespace

Command compare_command() {
  return {
      "compare",
      "Decide which rows are faster or slower in one of two results, or sides of one, by launches.",
      group_flags(
          {{"Sides",
            {{"BASE", "result file or folder to compare with; the only one with --base and --new",
              "BASE", "", true},
             {"NEW", "result file or folder that is judged", "NEW"},
             {"--vary", "intended difference between BASE and NEW", "WHAT", "", false, false, "",
              variations},
             {"--base",
              "compare two sides of one result: the rows of the side to compare with, by values of "
              "parameters, like backend=onednn; rows that differ in these alone are compared",
              "NAME=VALUE,...", "", false, true},
             {"--new", "with --base: the rows of the side that is judged, like backend=native",
              "NAME=VALUE,...", "", false, true},
             {"--filter",
              "compare only rows for which all hold, as in `assay table`: KEY=PATTERN, "
              "KEY!=PATTERN, or PATTERN alone",
              "EXPR,...", "", false, true}}},
           {"Judgement",
            {{"--tolerance", "relative change that is accepted", "X", "the suite's, or 0.02"},
             {"--false-alarm-rate", "probability of any false alarm in the whole suite", "X",
              "0.01"},
             {"--allow-mismatch",
              "compare although more differs than --vary names; all output says so"}}},
           {"Confirmation",
            {{"--confirm",
              fmt::format(
                  "run the flagged rows again here, {0} + {0} launches in turns, and decide "
                  "by these; results in DIR/base and DIR/new",
                  fresh_launches),
              "DIR", ""},
             {"--base-build", "with --confirm: build or installation that runs the rows of BASE",
              "BUILD", "this one"},
             {"--new-build", "with --confirm: build or installation that runs the rows of NEW",
              "BUILD", "this one"},
             {"--launcher",
              "with --confirm: command prefix for every executable of both sides, e.g. \"mpirun -n "
              "2\"",
              "COMMAND", "the suite's"},
             {"--fresh-base",
              fmt::format("result of {} new launches of the flagged rows of BASE, where "
                          "--confirm cannot be used (another machine)",
                          fresh_launches),
              "FILE", ""},
             {"--fresh-new", "the same for NEW", "FILE"},
             {"--flagged", "write the ids that need fresh launches to this file, as a JSON list",
              "FILE"}}},
           {output_group, {format_flag(comparison_formats), out_flag()}}}),
      &compare,
      {{"assay compare results/monday results/tuesday --vary software",
        "says which rows became faster or slower between two builds"},
       {"assay compare results/monday results/tuesday --vary software --confirm results/fresh "
        "--base-build monday",
        "runs rows that look changed again, with the build in the folder monday/ and this one"},
       {"assay compare results/today --base backend=onednn --new backend=native",
        "says which rows of one result are faster with another backend"},
       {"assay compare results/monday results/tuesday --vary nothing --format json --out "
        "comparison.json",
        "writes the comparison for `assay report`"}},
      "0 nothing is slower, 2 bad usage or input, 3 incorrect numerics, 4 slower, 5 inconclusive, "
      "6 not comparable, or a number was lost, 7 a row failed or timed out, 9 a training missed "
      "its "
      "target"};
}

}  // namespace assay
