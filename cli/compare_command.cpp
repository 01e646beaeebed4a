#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <iostream>
#include <set>

#include "analysis/compare/comparison.hpp"
#include "analysis/text_table.hpp"
#include "cli/commands.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"
#include "runner/run/run.hpp"

namespace assay {

using nlohmann::json;

namespace {

const std::vector<std::string> variations = {"software", "hardware", "precision", "backend",
                                             "nothing"};
/// The sides: folders of fresh launches, and words in their progress lines.
const std::vector<std::string> side_names = {"base", "new"};

/// Reads a side in a thread of its own: reading and checking the files takes most of the time.
std::future<Side> read_side(const std::string& name, const std::string& vary) {
  return std::async(std::launch::async,
                    [=] { return Side(name, load_results({name}, keep_for_comparison), vary); });
}

/// The programs and the launcher that the caller gives for a side.
Chosen choose_executables(const Given& given, const std::string& flag) {
  Chosen chosen;
  chosen.advice = "name their build with --" + flag;
  if (const auto build = value_of(given, flag)) chosen.programs = *build;
  chosen.launcher = value_of(given, "launcher");
  return chosen;
}

/// Runs the flagged rows of both sides again with the settings of their runs, the sides
/// interleaved; the results are in `folder`.
std::vector<Side> launch_flagged(const Comparison& comparison,
                                 const std::vector<const Side*>& sides, const std::string& folder,
                                 const Given& given) {
  std::vector<Again> again;
  for (const Side* side : sides) {
    if (side->results().size() != 1)
      throw InputError(
          fmt::format("--confirm repeats a single run of each side ({} has {} results). Give the "
                      "folders of two runs, or use --flagged, --fresh-base and --fresh-new.",
                      side->name(), side->results().size()));
    const std::string& name = side_names[again.size()];
    again.push_back({name,
                     plan_of_compared(side->results().front().result,
                                      choose_executables(given, name + "-build")),
                     flagged_ids(comparison, *side)});
  }
  std::vector<Side> fresh;
  for (RunResult& result :
       run_again(std::move(again), fresh_launches, folder, "assay compare --confirm")) {
    const std::string name = fmt::format("{}/{}", folder, side_names[fresh.size()]);
    std::vector<NamedResult> results;
    results.push_back({name, std::move(result)});
    fresh.emplace_back(name, std::move(results), comparison.vary);
  }
  return fresh;
}

void check_files(const Given& given) {
  std::vector<std::string> inputs;
  for (const char* flag : {"BASE", "NEW", "fresh-base", "fresh-new"})
    if (const auto name = value_of(given, flag)) inputs.push_back(*name);
  check_outputs(given, {"out", "flagged"}, inputs);
  if (const auto folder = value_of(given, "confirm"))
    for (const std::string& side : side_names) {
      const std::filesystem::path result = std::filesystem::path(*folder) / side / "result.json";
      if (std::filesystem::exists(result)) check_no_input("--confirm", result, inputs);
    }
  for (const char* flag : {"base-build", "new-build", "launcher"})
    if (given.contains(flag) && !given.contains("confirm"))
      throw InputError(fmt::format(
          "--{} has no effect without --confirm (nothing is executed). Give both.", flag));
}

CompareOptions read_options(const Given& given) {
  CompareOptions options;
  options.vary = choice_of(given, "vary", variations);
  options.command = command_line("assay compare", {"BASE", "NEW"}, given);
  options.tolerance = number_of(given, "tolerance", 0, 10);
  options.false_alarm_rate =
      number_of(given, "false-alarm-rate", 1e-9, 0.5).value_or(options.false_alarm_rate);
  options.allow_mismatch = given.contains("allow-mismatch");
  return options;
}

void check_fresh_flags(const Given& given) {
  if (given.contains("fresh-base") != given.contains("fresh-new"))
    throw InputError(
        "--fresh-base and --fresh-new need each other (fresh launches of both sides are compared). "
        "Give both.");
  if (given.contains("fresh-base") && given.contains("confirm"))
    throw InputError(
        "--confirm excludes --fresh-base and --fresh-new (it makes the fresh launches itself). "
        "Give either.");
}

void write_flagged(const std::string& file, const Comparison& comparison, const Side& base,
                   const Side& updated) {
  std::set<std::string> ids;
  for (const Side* side : {&base, &updated})
    for (std::string& id : flagged_ids(comparison, *side)) ids.insert(std::move(id));
  write_json(file, ids);
}

/// Says on stderr why the comparison has no rows, and what to do about fields that differ. No value
/// of --vary allows other settings of a run.
void explain_no_rows(const Comparison& comparison) {
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
                                           counted(mismatches.size() - 1, "other field")),
      runs_differ
          ? "Repeat one of the runs with suite and flags of the other, or use --allow-mismatch."
          : "State with --vary what is meant to differ, or use --allow-mismatch.");
}

int compare(const Given& given) {
  const CompareOptions options = read_options(given);
  const std::string format = choice_of(given, "format", {"terminal", "markdown", "json"});
  check_fresh_flags(given);
  check_files(given);

  auto reading_base = read_side(*value_of(given, "BASE"), options.vary),
       reading_new = read_side(*value_of(given, "NEW"), options.vary);
  std::vector<Side> fresh;
  if (const auto fresh_base = value_of(given, "fresh-base")) {
    auto first = read_side(*fresh_base, options.vary),
         second = read_side(*value_of(given, "fresh-new"), options.vary);
    fresh.push_back(first.get());
    fresh.push_back(second.get());
  }
  const Side base = reading_base.get(), updated = reading_new.get();
  const auto compare_now = [&] {
    return compare_sides(base, updated, fresh.empty() ? nullptr : &fresh[0],
                         fresh.empty() ? nullptr : &fresh[1], options);
  };
  Comparison comparison = compare_now();
  const std::size_t unconfirmed = comparison.summary.at("needs_confirmation");
  if (const auto folder = value_of(given, "confirm"); folder && unconfirmed > 0) {
    std::cerr << fmt::format(
        "assay compare: {} rows are flagged; starting {} + {} fresh launches of them.\n",
        unconfirmed, fresh_launches, fresh_launches);
    try {
      fresh = launch_flagged(comparison, {&base, &updated}, *folder, given);
    } catch (const Unfinished& end) {
      std::cerr << fmt::format("assay compare: {}\n", end.what());
      return static_cast<int>(ExitCode::failed);
    }
    comparison = compare_now();
  }
  const json document = comparison;
  check_own(document, "comparison");
  if (const auto file = value_of(given, "flagged")) write_flagged(*file, comparison, base, updated);
  emit(given, format == "json"
                  ? document.dump(1) + "\n"
                  : render_comparison(comparison, base, updated, format == "markdown"));
  explain_no_rows(comparison);
  return static_cast<int>(comparison.exit_code);
}

}  // namespace

Command compare_command() {
  return {
      "compare",
      "Decide which rows became faster or slower between two results, by their launches.",
      grouped(
          {{"Sides",
            {{"BASE", "result file or folder to compare with", "BASE", "", true},
             {"NEW", "result file or folder that is judged", "NEW", "", true},
             {"--vary", "what is meant to differ", "WHAT", "", true, false, "", variations}}},
           {"Judgement",
            {{"--tolerance", "relative change that is accepted", "X", "the suite's, or 0.02"},
             {"--false-alarm-rate", "probability of any false alarm in the whole suite", "X",
              "0.01"},
             {"--allow-mismatch",
              "compare although more differs than --vary names; all output says so", "", ""}}},
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
             {"--fresh-new", "the same for NEW", "FILE", ""},
             {"--flagged", "write the ids that need fresh launches to this file, as a JSON list",
              "FILE", ""}}},
           {output_group, {format_flag({"terminal", "markdown", "json"}), out_flag()}}}),
      &compare,
      {{"assay compare results/monday results/tuesday --vary software",
        "says which rows became faster or slower between two builds"},
       {"assay compare results/monday results/tuesday --vary software --confirm results/fresh "
        "--base-build monday",
        "runs rows that look changed again, with the build in the folder monday/ and this one"},
       {"assay compare results/monday results/tuesday --vary nothing --format json --out "
        "comparison.json",
        "writes the comparison for `assay report`"}},
      "0 nothing is slower, 2 bad usage or input, 3 incorrect numerics, 4 slower, 5 inconclusive, "
      "6 not comparable, or a number was lost, 7 a row failed or timed out, 9 a training missed "
      "its "
      "target"};
}

}  // namespace assay
