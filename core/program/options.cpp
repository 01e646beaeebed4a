#include "core/program/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/standard_streams.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/machine/launched.hpp"

namespace assay {

namespace {

/// All "--name"s of a (sub)command, for the nearest one.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// CLI11's words for what was left out, as PROBLEM (WHY). SUGGESTION.
std::string explained(const CLI::App& app, const CLI::ParseError& error) {
  const std::string told = error.what();
  std::string program = app.get_name();
  for (const CLI::App* up = app.get_parent(); up != nullptr; up = up->get_parent())
    program = up->get_name() + " " + program;
  const std::string help = ". See " + program + " --help.";
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string name = told.substr(0, told.find(" is required"));
    if (const CLI::Option* option = app.get_option_no_throw(name))
      return name + " is missing (" + option->get_description() + ")" + help;
    return "no command was given" + help;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = told.substr(0, told.find(':'));
    if (const CLI::Option* option = app.get_option_no_throw(name))
      return option->count() > 1
                 ? name + " was given more than once (it has one value). Give it once."
                 : name + " needs a value. Use " + name + " " + option->get_type_name() + ".";
  }
  return told + help;
}

/// A number as --help shows it: "20000000", "0.01".
std::string shown(double number) { return fmt::format("{}", number); }

/// `--out ""` is a variable that was not set, never "not given".
void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty())
        throw InputError(fmt::format(
            "{} has an empty value (a variable that is not set?). Give one, or leave it out.",
            option->get_name()));
}

/// A switch as --no-ceilings, and --no-ceilings=false, which leaves it off.
bool is_on(const CLI::Option& option) {
  try {
    return option.count() > 0 && option.as<bool>();
  } catch (const CLI::ConversionError&) {
    throw InputError(fmt::format("{} is a switch ('{}' is neither true nor false). Give it alone.",
                                 option.get_name(), option.results().back()));
  }
}

/// Parses. Returns -1 to go on, or the exit code after --help and --version (printed to stdout).
int parse(CLI::App& app, int argc, const char* const* argv) {
  app.set_version_flag("--version", "assay " + version_text());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    app.exit(wanted, std::cout, std::cerr);
    return 0;
  } catch (const CLI::ParseError& error) {
    // An unknown flag or command is told first: its value may have overflowed a positional
    // argument, and CLI11 tells only that.
    const CLI::App* where = &app;
    while (!where->get_subcommands().empty()) where = where->get_subcommands().front();
    const std::vector<std::string> extras = app.remaining(true);
    for (const std::string& extra : extras)
      if (extra.starts_with("-"))
        throw InputError(
            unknown_name("flag", extra.substr(0, extra.find('=')), flag_names(*where)) +
            " See --help.");
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    if (!extras.empty() && where == &app && !commands.empty())
      throw InputError(unknown_name("command", extras.front(), commands) + " See --help.");
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
      throw InputError("unexpected argument '" + extras.front() + "'. See --help.");
    throw InputError(explained(*where, error));
  }
  for (const CLI::App* where = &app; where != nullptr;
       where = where->get_subcommands().empty() ? nullptr : where->get_subcommands().front())
    refuse_empty(*where);
  return -1;
}

/// CLI11's delimiter drops empty values silently; "--precision fp32,,bf16" is a slip and is told.
std::vector<std::string> commas(const std::string& flag, const std::vector<std::string>& given) {
  std::vector<std::string> values;
  for (const std::string& text : given)
    for (const std::string& value : split(text, ',')) {
      if (value.empty())
        throw InputError("empty value in " + flag + " '" + text +
                         "'. Separate values by single commas.");
      values.push_back(value);
    }
  return values;
}

std::string axis_help(const Dimension& axis) {
  std::string help = axis.help;
  if (!axis.values.empty()) help += " (" + join(axis.values, " ") + ")";
  if (!axis.defaults.empty()) help += " [" + join(axis.defaults, ",") + "]";
  return help;
}

/// "--ranks-per-node" of ranks_per_node.
std::string dashed(const std::string& name) {
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// --ranks-per-node, as flags are written, and --ranks_per_node, as a suite has it.
std::string flags_of(const Dimension& axis) {
  std::string all;
  for (const std::string& name : {axis.flag, axis.name}) {
    if (name.empty()) continue;
    all += (all.empty() ? "" : ",") + dashed(name);
    if (dashed(name) != "--" + name) all += ",--" + name;
  }
  return axis.also.empty() ? all : all + ",--" + axis.also;
}

/// Says on stderr which of the given flags have new names.
void report_old_flags(const std::vector<Dimension>& axes, int argc, const char* const* argv) {
  if (launched().rank > 0) return;
  for (const Dimension& axis : axes)
    for (int i = 1; i < argc && !axis.flag.empty(); ++i)
      if (const std::string word = argv[i]; word.substr(0, word.find('=')) == dashed(axis.name)) {
        std::cerr << dashed(axis.name) << " is the old name of " << dashed(axis.flag)
                  << " and will be removed. Use " << dashed(axis.flag) << ".\n";
        break;
      }
}

}  // namespace

RunRequest parse_benchmark_options(const Benchmark& benchmark, int argc, const char* const* argv,
                                   int& exit) {
  CLI::App app(benchmark.description() +
                   "\nSeveral values: separated by commas (all: every one of a closed list); all "
                   "combinations "
                   "are run. Results go to stdout, talk to stderr.",
               "assay-" + benchmark.name());
  app.footer(
      "Exit codes: 0 ok or unsupported, 2 bad usage or input, 3 incorrect numerics, 7 failed, "
      "timed out or a required backend is "
      "unavailable.");
  RunRequest request;
  std::map<std::string, std::vector<std::string>> given;
  for (const Dimension& axis : benchmark.dimensions())
    if (!axis.found)
      app.add_option(flags_of(axis), given[axis.name], axis_help(axis))
          ->type_name("NAME,…")
          ->allow_extra_args(false);
  std::vector<std::string> baselines;
  std::string out;
  app.add_option("--suite", request.suite,
                 "run this benchmark's cases of a suite (name or file) instead")
      ->type_name("SUITE");
  app.add_option("--baseline", baselines, "compare with these systems (names or result files)")
      ->type_name("NAME,…")
      ->allow_extra_args(false);
  app.add_option("--out", out, "write a result file")->type_name("FILE");
  // Numbers are taken as words: CLI11 would let "nan" and "-1" for an unsigned number pass.
  std::map<std::string, std::string> numbers;
  const auto number = [&](const std::string& name, const std::string& help, const char* type) {
    return app.add_option(name, numbers[name], help)->type_name(type);
  };
  number("--max-time", max_time_help, "S")->default_str(shown(request.timing.max_time));
  number("--precision-target", precision_target_help, "X")
      ->default_str(shown(request.timing.precision_target));
  number("--min-samples", min_samples_help, "N")
      ->default_str(std::to_string(request.timing.min_samples));
  number("--seed", "seed of data, samples and orders", "N")
      ->default_str(std::to_string(request.seed));
  number("--reference-budget", reference_budget_help, "N")
      ->default_str(shown(request.reference_budget));
  app.add_flag("--required", request.required, "unsupported counts as failed (exit 7)");
  app.add_flag("--list", request.list, "print the ids of the cases, run nothing");
  app.add_flag("--json", request.json, "with --list: as JSON");
  const std::string group = "Used by `assay run`";
  app.add_option("--plan", request.plan, "JSON list of ids: the only cases to run, in this order")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--journal", request.journal, "append rows to this journal")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--suite-hash", request.suite_hash, "refuse a suite of other content")
      ->type_name("HASH")
      ->group(group);
  app.add_option("--cases-hash", request.cases_hash, "refuse a suite with other cases")
      ->type_name("HASH")
      ->group(group);
  number("--launch", "number of this launch", "N")->group(group);
  number("--attempt", "number of this attempt", "N")->group(group);

  exit = parse(app, argc, argv);
  if (exit >= 0) return request;
  report_old_flags(benchmark.dimensions(), argc, argv);
  for (auto& [name, values] : given)
    if (!values.empty()) request.chosen[name] = commas(dashed(name), values);
  request.baselines = commas("--baseline", baselines);
  request.out = out;
  const auto given_number = [&](const std::string& name, auto& target, auto parsed) {
    if (app.count(name) == 0) return false;
    target = static_cast<std::decay_t<decltype(target)>>(parsed(name, numbers[name]));
    return true;
  };
  const auto whole = [](std::uint64_t least, std::uint64_t most) {
    return [=](const std::string& name, const std::string& text) {
      return whole_number(name, text, least, most);
    };
  };
  request.max_time_given = given_number("--max-time", request.timing.max_time, seconds_number);
  request.precision_target_given =
      given_number("--precision-target", request.timing.precision_target, precision_target_number);
  request.min_samples_given =
      given_number("--min-samples", request.timing.min_samples, whole(1, most_samples));
  given_number("--seed", request.seed, whole(0, UINT64_MAX));
  given_number("--reference-budget", request.reference_budget, reference_budget_number);
  given_number("--launch", request.launch, whole(0, 1000000));
  given_number("--attempt", request.attempt, whole(0, 1000000));
  if (!request.suite.empty() && !request.chosen.empty())
    throw InputError(fmt::format(
        "--suite and {} exclude each other (a suite names its own cases). Use one of them.",
        dashed(request.chosen.begin()->first)));
  if (request.suite.empty() && !request.plan.empty())
    throw InputError("--plan goes with --suite (it names cases of one). Give both, or neither.");
  if (request.list)
    for (const char* other : {"--out", "--baseline", "--journal", "--max-time", "--min-samples",
                              "--precision-target", "--reference-budget", "--seed"})
      if (app.count(other) > 0)
        throw InputError(fmt::format(
            "{} has no use with --list (nothing is run). Leave one of them out.", other));
  if (request.json && !request.list)
    throw InputError("--json goes with --list (a result file is JSON already). Use --out FILE.");
  return request;
}

int command_main(const std::string& program, const std::string& description,
                 const std::vector<Command>& commands, int argc, const char* const* argv) {
  return guarded_main(program, [&] {
    environment::unbind_this_thread();
    CLI::App app(description, program);
    app.require_subcommand(1);
    struct Store {
      std::vector<std::vector<std::string>> values;
      std::vector<CLI::Option*> options;
    };
    std::vector<Store> stores(commands.size());
    for (std::size_t c = 0; c < commands.size(); ++c) {
      CLI::App* sub = app.add_subcommand(commands[c].name, commands[c].help);
      Store& store = stores[c];
      store.values.resize(commands[c].flags.size());
      for (std::size_t f = 0; f < commands[c].flags.size(); ++f) {
        const Flag& flag = commands[c].flags[f];
        CLI::Option* option = nullptr;
        if (flag.value.empty() && flag.name.starts_with("--")) {
          option = sub->add_flag(flag.name, flag.help);
        } else {
          const std::string help =
              flag.otherwise.empty() ? flag.help : flag.help + " [" + flag.otherwise + "]";
          option =
              sub->add_option(flag.name == "--out" ? "-o,--out" : flag.name, store.values[f], help);
          if (!flag.value.empty()) option->type_name(flag.value);
          // A flag takes one value at a time, so that "--baseline a FILE" leaves FILE to the
          // positional argument, and BASE leaves the next word to NEW.
          if (flag.name.starts_with("--") || !flag.many) option->allow_extra_args(false);
          if (!flag.many) option->expected(1);
        }
        if (flag.required) option->required();
        store.options.push_back(option);
      }
    }
    const int exit = parse(app, argc, argv);
    if (exit >= 0) return exit;
    for (std::size_t c = 0; c < commands.size(); ++c) {
      if (!app.got_subcommand(commands[c].name)) continue;
      std::map<std::string, std::vector<std::string>> given;
      for (std::size_t f = 0; f < commands[c].flags.size(); ++f) {
        const Flag& flag = commands[c].flags[f];
        if (stores[c].options[f]->count() == 0) continue;
        const bool named = flag.name.starts_with("--");
        if (named && flag.value.empty() && !is_on(*stores[c].options[f])) continue;
        std::vector<std::string> values = stores[c].values[f];
        if (named && flag.value.empty()) values = {""};
        if (named && flag.many) values = commas(flag.name, values);
        given[named ? flag.name.substr(2) : flag.name] = std::move(values);
      }
      return commands[c].run(given);
    }
    throw InputError("no command. See --help.");
  });
}

int guarded_main(const std::string& program, const std::function<int()>& body) {
  fill_standard_streams();
  const EscapedErrors escaped_errors;
  try {
    const int code = body();
    const auto why = why_output_lost();
    if (!why) return code;
    // A number that nobody can read is no result.
    std::cerr << program << ": " << *why << std::endl;
    return static_cast<int>(gravest(static_cast<ExitCode>(code), ExitCode::failed));
  } catch (const InputError& error) {
    std::cerr << program << ": " << error.what() << std::endl;
    return static_cast<int>(ExitCode::usage);
  } catch (const std::filesystem::filesystem_error& error) {
    // A name that leads nowhere (a circle of links, too long, a folder that may not be read).
    std::cerr << program << ": " << error.path1().string() << ": cannot be used ("
              << error.code().message() << "). Check the name and its permissions." << std::endl;
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << std::endl;
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace assay
