// The flags of a benchmark's program, made from its dimensions, and the request that they make.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/machine/launched.hpp"
#include "core/program/allocator.hpp"
#include "core/program/conform.hpp"
#include "core/program/given.hpp"
#include "core/program/options.hpp"

namespace assay {

namespace {

/// A number as --help shows it: "20000000", "0.01".
std::string format_number(double number) { return fmt::format("{}", number); }

/// "ranks-per-node" for ranks_per_node.
std::string add_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool has_numbers(const Dimension& axis) {
  return !axis.field.empty() ||
         (!axis.defaults.empty() &&
          std::all_of(axis.defaults.begin(), axis.defaults.end(),
                      [](const std::string& text) { return parse_number(text).has_value(); }));
}

/// --ranks-per-node, as flags are written, and --ranks_per_node, as a suite has it.
Flag make_flag(const Dimension& axis) {
  Flag flag{"--" + format_flag_name(axis),
            axis.help,
            has_numbers(axis) ? "N,..." : "NAME,...",
            axis.shown_default.empty() ? join(axis.defaults, ",") : axis.shown_default,
            false,
            true,
            axis.traits.plugin ? "Backend" : axis.group,
            axis.values};
  const std::vector<std::string> names = axis.flags.empty() ? std::vector{axis.name} : axis.flags;
  for (const std::string& name : names)
    for (const std::string& written : {"--" + add_dashes(name), "--" + name})
      if (written != flag.name &&
          std::find(flag.aliases.begin(), flag.aliases.end(), written) == flag.aliases.end())
        flag.aliases.push_back(written);
  return flag;
}

std::vector<Flag> timing_flags() {
  const RunRequest standard;
  return {
      {"--max-time", max_time_help, "S", format_number(standard.timing.max_time)},
      {"--precision-target", precision_target_help, "X",
       format_number(standard.timing.precision_target)},
      {"--min-samples", min_samples_help, "N", std::to_string(standard.timing.min_samples)},
      {"--burn", burn_help, "S", "none"},
      {"--launches", "run all cases in N new processes one after the other; --out holds all rows",
       "N", "1, this process"},
      {"--seed", "seed of data, samples and orders", "N", std::to_string(standard.seed)}};
}

const std::vector<Flag>& checking_flags() {
  static const std::vector<Flag> flags{
      {"--reference-budget", reference_budget_help, "N",
       format_number(RunRequest{}.reference_budget)},
      {"--required", "unsupported counts as failed (exit code 7)"}};
  return flags;
}

/// --format, and the same in the words of Google Benchmark.
const std::vector<std::string> formats{"text", "google-benchmark"},
    benchmark_formats{"console", "json"};

/// The flags that users of Google Benchmark know.
const std::vector<Flag>& benchmark_flags() {
  static const std::vector<Flag> flags{
      {"--benchmark_list_tests", "print the ids of the cases alone, run nothing"},
      {"--benchmark_filter",
       "only cases of which this regular expression finds a part of the id or of a name; behind a "
       "-: only the others",
       "REGEX", "all cases"},
      {"--benchmark_format", "--format in other words", "FORMAT", benchmark_formats.front(), false,
       false, "", benchmark_formats},
      {"--benchmark_out", "also write the JSON of Google Benchmark to this file", "FILE"}};
  return flags;
}

const std::vector<Flag>& output_flags() {
  static const std::vector<Flag> flags{
      {"--out", "write a result file", "FILE"},
      {"--baseline", "compare with these systems (names or result files)", "NAME,...", "", false,
       true},
      {"--list", "print the ids of the cases, run nothing"},
      {"--json", "with --list: print JSON"},
      {"--format", "rows as text, or at the end as JSON of Google Benchmark", "FORMAT", "text",
       false, false, "", formats},
      quiet_flag(),
      verbose_flag()};
  return flags;
}

const std::vector<Flag>& flags_of_assay_run() {
  static const std::vector<Flag> flags{
      {"--plan", "JSON list of ids: the only cases to run, in this order", "FILE"},
      {"--journal", "append rows to this journal", "FILE"},
      {"--suite-hash", "refuse a suite of other content", "HASH"},
      {"--cases-hash", "refuse a suite with other cases", "HASH"},
      {"--opened", "backends that this run could open: a case fails if it lacks one of them",
       "NAME,...", "", false, true},
      {"--launch", "number of this launch", "N", "0"},
      {"--attempt", "number of this attempt", "N", "0"},
      {"--all-ranks", "every launched process measures at once, each a problem of its own"}};
  return flags;
}

/// Sets `target` from a numeric flag. Returns true if the flag was given.
template <class Target, class Parse>
bool set_number(const Arguments& arguments, const std::string& flag, Target& target,
                const Parse& parse) {
  if (!arguments.contains(flag)) return false;
  target = static_cast<Target>(parse("--" + flag, *read_value(arguments, flag)));
  return true;
}

void set_numbers(RunRequest& request, const Arguments& arguments) {
  const auto whole = [](std::uint64_t least, std::uint64_t most) {
    return [=](const std::string& name, const std::string& text) {
      return whole_number(name, text, least, most);
    };
  };
  TimingOptions& timing = request.timing;
  request.max_time_given = set_number(arguments, "max-time", timing.max_time, seconds_number);
  request.precision_target_given =
      set_number(arguments, "precision-target", timing.precision_target, precision_target_number);
  request.min_samples_given =
      set_number(arguments, "min-samples", timing.min_samples, whole(1, most_samples));
  set_number(arguments, "burn", timing.burn, seconds_number);
  set_number(arguments, "seed", request.seed, whole(0, UINT64_MAX));
  set_number(arguments, "reference-budget", request.reference_budget, reference_budget_number);
  set_number(arguments, "launches", request.launches, whole(1, 10000));
  set_number(arguments, "launch", request.launch, whole(0, 1000000));
  set_number(arguments, "attempt", request.attempt, whole(0, 1000000));
}

/// Reports flags that have no effect here, because they are mistakes.
void refuse_useless(const RunRequest& request, const std::vector<Dimension>& axes,
                    const Arguments& arguments) {
  if (!request.suite.empty())
    for (const Dimension& axis : axes)
      if (request.chosen.contains(axis.name) && !axis.traits.over_suite)
        throw InputError(fmt::format(
            "--suite and --{} exclude each other (a suite names its own cases). Use one of them.",
            add_dashes(axis.name)));
  if (request.suite.empty())
    for (const char* flag : {"plan", "suite-hash", "cases-hash"})
      if (arguments.contains(flag))
        throw InputError(fmt::format(
            "--{} goes with --suite (it is about the cases of one). Give both, or neither.", flag));
  if (request.list)
    for (const char* flag :
         {"out", "format", "benchmark_format", "benchmark_out", "baseline", "journal", "max-time",
          "min-samples", "precision-target", "burn", "reference-budget", "seed", "launches",
          "launch", "attempt", "quiet", "verbose"})
      if (arguments.contains(flag))
        throw InputError(fmt::format(
            "--{} cannot be used with --list (nothing is run). Leave one of them out.", flag));
  if (request.json && !request.list)
    throw InputError("--json goes with --list (a result file is JSON already). Use --out FILE.");
  if (arguments.contains("launches") &&
      (request.google_benchmark || !request.benchmark_out.empty()))
    throw InputError(
        "--launches cannot be used with JSON of Google Benchmark (which has the rows of one "
        "process). Use --out FILE.");
  if (arguments.contains("launches"))
    for (const char* flag : {"plan", "journal", "launch", "attempt"})
      if (arguments.contains(flag))
        throw InputError(
            fmt::format("--{} cannot be used with --launches (each launch gets its own). Leave one "
                        "of them out.",
                        flag));
}

}  // namespace

std::string format_flag_name(const Dimension& axis) {
  return add_dashes(axis.flags.empty() ? axis.name : axis.flags.front());
}

std::vector<Example> Benchmark::examples() const {
  const std::string program = "assay-" + name();
  return {{program + " --list", "prints the ids of the cases that run by default"},
          {fmt::format("{0} --max-time 1 --launches 3 --out {1}.json", program, name()),
           fmt::format("measures them in 3 processes; {}.json has all rows", name())},
          {fmt::format("{} --max-time 1 --quiet --out quiet-{}.json", program, name()),
           "prints only what went wrong"}};
}

Command benchmark_command(const Benchmark& benchmark) {
  std::vector<Flag> flags;
  for (const Dimension& axis : all_dimensions(benchmark))
    if (!axis.traits.determined) flags.push_back(make_flag(axis));
  // Groups the flags by headings, whatever the order of the dimensions in the id.
  std::stable_sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) {
    return a.group != b.group && a.group != "Backend" && b.group == "Backend";
  });
  const Flag suite{"--suite", "run the cases of this benchmark in a suite (name or file) instead",
                   "SUITE"};
  for (Flag& flag : group_flags({{"Problem", {suite}},
                                 {"Timing", timing_flags()},
                                 {"Checks", checking_flags()},
                                 {output_group, output_flags()},
                                 {"As in Google Benchmark", benchmark_flags()},
                                 {"Used by `assay run`", flags_of_assay_run()}}))
    flags.push_back(std::move(flag));
  Command command{
      "assay-" + benchmark.name(),
      benchmark.description() +
          "\nSeparate several values by commas (all: every value of a closed list); all "
          "combinations are run. Results go to stdout, diagnostics to stderr.",
      std::move(flags)};
  command.examples = benchmark.examples();
  command.exit_codes =
      "0 ok, or unsupported beside rows that were measured, 2 bad usage or input, 3 incorrect "
      "numerics, 6 no row was measured, 7 failed, timed out or a required backend is unavailable" +
      benchmark.exit_codes();
  return command;
}

RunRequest parse_benchmark_options(const Benchmark& benchmark, int argc, const char* const* argv,
                                   int& exit) {
  RunRequest request;
  const std::optional<Arguments> parsed =
      parse_command(benchmark_command(benchmark), argc, argv, exit);
  if (!parsed) return request;
  const Arguments& arguments = *parsed;
  const std::vector<Dimension> axes = all_dimensions(benchmark);
  for (const Dimension& axis : axes)
    if (const auto entry = arguments.find(format_flag_name(axis));
        entry != arguments.end() && !axis.traits.determined)
      request.chosen[axis.name] = entry->second;
  if (const auto entry = arguments.find("baseline"); entry != arguments.end())
    request.baselines = entry->second;
  else
    try {
      request.baselines = list_prescribed_baselines(benchmark.name(), request.chosen);
    } catch (const InputError& error) {
      throw InputError(std::string("--conform: ") + error.what());
    }
  request.suite = read_value(arguments, "suite").value_or("");
  request.plan = read_value(arguments, "plan").value_or("");
  request.journal = read_value(arguments, "journal").value_or("");
  request.suite_hash = read_value(arguments, "suite-hash").value_or("");
  request.cases_hash = read_value(arguments, "cases-hash").value_or("");
  if (const auto entry = arguments.find("opened"); entry != arguments.end())
    request.opened = entry->second;
  request.out = read_value(arguments, "out").value_or("");
  request.all_ranks = arguments.contains("all-ranks");
  request.required = arguments.contains("required");
  request.ids_alone = arguments.contains("benchmark_list_tests");
  request.list = arguments.contains("list") || request.ids_alone;
  request.filter = read_value(arguments, "benchmark_filter").value_or("");
  request.google_benchmark =
      read_choice(arguments, "format", formats) == formats.back() ||
      read_choice(arguments, "benchmark_format", benchmark_formats) == benchmark_formats.back();
  request.benchmark_out = read_value(arguments, "benchmark_out").value_or("");
  request.json = arguments.contains("json");
  request.talk = read_verbosity(arguments);
  set_numbers(request, arguments);
  refuse_useless(request, axes, arguments);
  return request;
}

}  // namespace assay
