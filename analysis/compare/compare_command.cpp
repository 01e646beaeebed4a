#include <fmt/format.h>

#include <filesystem>
#include <future>
#include <iostream>
#include <set>

#include "analysis/commands.hpp"
#include "analysis/compare/comparison.hpp"
#include "analysis/compare/verdict.hpp"
#include "analysis/run/run.hpp"
#include "analysis/run/run_again.hpp"
#include "core/result/outputs.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

const std::vector<std::string> variations = {"software", "hardware", "precision", "nothing"};

std::string command_line(const Given& given) {
  std::string line =
      fmt::format("assay compare {} {}", *value_of(given, "BASE"), *value_of(given, "NEW"));
  for (const auto& [flag, values] : given)
    for (const std::string& value : values)
      if (flag != "BASE" && flag != "NEW")
        line += fmt::format(" --{}{}{}", flag, value.empty() ? "" : " ", value);
  return line;
}

/// Most of the time goes into reading and checking the files: all sides at once.
std::future<Side> reading(const std::string& name, const std::string& vary) {
  return std::async(std::launch::async,
                    [=] { return Side(name, load_results({name}), vary == "precision"); });
}

/// What the caller lets be executed for one side.
Chosen chosen_of(const Given& given, const std::string& flag) {
  Chosen chosen;
  chosen.advice = "name their build with --" + flag;
  if (const auto build = value_of(given, flag)) chosen.programs = *build;
  if (const auto launcher = value_of(given, "launcher"))
    chosen.launcher = launcher_words(*launcher);
  return chosen;
}

/// The flagged rows of both sides once more, as their runs were run, with fresh launches in turns:
/// the results in `folder`.
std::vector<Side> fresh_launches_of(const json& document, const std::vector<const Side*>& sides,
                                    const std::string& vary, const std::string& folder,
                                    const Given& given) {
  std::vector<Again> again;
  for (const Side* side : sides) {
    if (side->results().size() != 1)
      throw InputError(
          fmt::format("--confirm repeats one run a side ({} holds {} results). Name the folders of "
                      "two runs, or "
                      "use --flagged and --fresh-base, --fresh-new.",
                      side->name(), side->results().size()));
    again.push_back({side->results().front().result, flagged_ids(document, *side),
                     chosen_of(given, again.empty() ? "base-build" : "new-build")});
  }
  std::vector<Side> fresh;
  for (json& result : run_again(again, fresh_launches, folder)) {
    const std::string name = fmt::format("{}/{}", folder, fresh.size());
    std::vector<NamedResult> results;
    results.push_back({name, std::move(result)});
    fresh.emplace_back(name, std::move(results), vary == "precision");
  }
  return fresh;
}

void check_files(const Given& given) {
  std::vector<std::string> inputs;
  for (const char* flag : {"BASE", "NEW", "fresh-base", "fresh-new"})
    if (const auto name = value_of(given, flag)) inputs.push_back(*name);
  check_outputs(given, {"out", "flagged"}, inputs);
  if (const auto folder = value_of(given, "confirm"))
    for (const char* side : {"0", "1"}) {
      const std::filesystem::path result = std::filesystem::path(*folder) / side / "result.json";
      if (std::filesystem::exists(result)) check_output("--confirm", result, inputs);
    }
  for (const char* flag : {"base-build", "new-build", "launcher"})
    if (given.contains(flag) && !given.contains("confirm"))
      throw InputError(
          fmt::format("--{} goes with --confirm (nothing else is executed). Give both.", flag));
}

bool needs_confirmation(const json& document) {
  return document.at("summary").at("needs_confirmation") != 0;
}

int compare(const Given& given) {
  CompareOptions options;
  options.vary = choice_of(given, "vary", variations);
  options.command = command_line(given);
  options.tolerance = number_of(given, "tolerance", 0, 10);
  options.false_alarm_rate =
      number_of(given, "false-alarm-rate", 1e-9, 0.5).value_or(options.false_alarm_rate);
  options.allow_mismatch = given.contains("allow-mismatch");
  const std::string format = choice_of(given, "format", {"terminal", "markdown", "json"});
  const auto fresh_base = value_of(given, "fresh-base"), fresh_new = value_of(given, "fresh-new");
  if (fresh_base.has_value() != fresh_new.has_value())
    throw InputError(
        "--fresh-base and --fresh-new belong together (one side alone confirms nothing). Give "
        "both.");
  if (fresh_base && given.contains("confirm"))
    throw InputError(
        "--confirm makes the fresh launches that --fresh-base and --fresh-new name. Use one way.");
  check_files(given);

  auto base = reading(*value_of(given, "BASE"), options.vary);
  auto updated = reading(*value_of(given, "NEW"), options.vary);
  std::vector<Side> fresh;
  if (fresh_base) {
    auto first = reading(*fresh_base, options.vary), second = reading(*fresh_new, options.vary);
    fresh.push_back(first.get());
    fresh.push_back(second.get());
  }
  const Side left = base.get(), right = updated.get();
  const auto documented = [&] {
    return comparison_document(left, right, fresh.empty() ? nullptr : &fresh[0],
                               fresh.empty() ? nullptr : &fresh[1], options);
  };
  json document = documented();
  if (const auto folder = value_of(given, "confirm"); folder && needs_confirmation(document)) {
    std::cerr << fmt::format(
        "assay compare: {} rows are flagged; {} + {} fresh launches of each.\n",
        document["summary"]["needs_confirmation"].get<int>(), fresh_launches, fresh_launches);
    try {
      fresh = fresh_launches_of(document, {&left, &right}, options.vary, *folder, given);
    } catch (const Unfinished& end) {
      std::cerr << fmt::format("assay compare: {}\n", end.what());
      return static_cast<int>(ExitCode::failed);
    }
    document = documented();
  }
  check_own(document, "comparison");
  if (const auto file = value_of(given, "flagged")) {
    std::set<std::string> ids;
    for (const Side* side : {&left, &right})
      for (std::string& id : flagged_ids(document, *side)) ids.insert(std::move(id));
    write_json(*file, ids);
  }
  emit(given, format == "json" ? document.dump(1) + "\n"
                               : render_comparison(document, format == "markdown"));
  if (document["refused"] == true)
    std::cerr << fmt::format(
        "assay: {} and {} are not comparable ({} fields differ that were not meant to: {}). Say "
        "what was meant with --vary, or --allow-mismatch.\n",
        left.name(), right.name(), document["mismatches"].size(),
        document["mismatches"][0]["field"].get<std::string>());
  else if (document["rows"].empty())
    std::cerr << fmt::format("assay: {} and {} have no row that can be compared.\n", left.name(),
                             right.name());
  return document["exit_code"];
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
            {{"--confirm", "run the flagged rows again here, both sides in turns; results in DIR",
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
              fmt::format("fresh launches of the flagged rows of BASE ({})", fresh_launches),
              "FILE", ""},
             {"--fresh-new",
              fmt::format("fresh launches of the flagged rows of NEW ({})", fresh_launches), "FILE",
              ""},
             {"--flagged", "write the ids that need fresh launches to this file, as a JSON list",
              "FILE", ""}}},
           {output_group,
            {{"--format",
              "format of the output",
              "FORMAT",
              "terminal",
              false,
              false,
              "",
              {"terminal", "markdown", "json"}},
             {"--out", "write to this file", "FILE", "stdout"}}}}),
      &compare,
      {{"assay compare results/monday results/tuesday --vary software",
        "says which rows became faster or slower between two builds"},
       {"assay compare results/monday results/tuesday --vary nothing --format json --out "
        "comparison.json",
        "writes the comparison for `assay report`"}}};
}

}  // namespace assay
