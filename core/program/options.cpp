#include "core/program/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/message.hpp"
#include "core/base/standard_streams.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/machine/environment_parts.hpp"
#include "core/machine/threads.hpp"
#include "core/program/manual.hpp"
#include "core/program/terminal.hpp"

namespace assay {

namespace {

/// All "--name"s of a (sub)command, for the nearest one.
std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// CLI11's message about a missing argument, as PROBLEM (WHY). SUGGESTION.
std::string explain_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string complaint = error.what();
  std::string program = app.get_name();
  for (const CLI::App* up = app.get_parent(); up != nullptr; up = up->get_parent())
    program = up->get_name() + " " + program;
  const std::string help = ". See " + program + " --help.";
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string name = complaint.substr(0, complaint.find(" is required"));
    if (const CLI::Option* option = app.get_option_no_throw(name))
      return name + " is missing (" + option->get_description() + ")" + help;
    return "no command was given" + help;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = complaint.substr(0, complaint.find(':'));
    if (const CLI::Option* option = app.get_option_no_throw(name))
      return option->count() > 1
                 ? name + " was given more than once (it has one value). Give it once."
                 : name + " needs a value. Use " + name + " " + option->get_type_name() + ".";
  }
  return complaint + help;
}

[[noreturn]] void refuse_empty(const std::string& name) {
  throw InputError(fmt::format(
      "{} has an empty value (a variable that is not set?). Give one, or leave it out.", name));
}

/// `--out ""` comes from a variable that is not set; it does not mean "not given".
void refuse_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty()) refuse_empty(option->get_name());
}

/// CLI11 would read "--required=" as the switch alone.
void refuse_empty(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      refuse_empty(word.substr(0, word.size() - 1));
  }
}

/// True for the switch --no-ceilings; false for --no-ceilings=false.
bool is_on(const CLI::Option& option) {
  try {
    return option.count() > 0 && option.as<bool>();
  } catch (const CLI::ConversionError&) {
    throw InputError(fmt::format("{} is a switch ('{}' is neither true nor false). Give it alone.",
                                 option.get_name(), option.results().back()));
  }
}

/// Parses. Returns -1 to continue, or the exit code after --help and --version (printed to stdout).
int parse(CLI::App& app, int argc, const char* const* argv) {
  refuse_empty(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    app.exit(wanted, std::cout, std::cerr);
    return 0;
  } catch (const CLI::ParseError& error) {
    // An unknown flag or command is reported first: CLI11 may take its value for a surplus
    // positional argument, and report only that.
    const CLI::App* where = &app;
    while (!where->get_subcommands().empty()) where = where->get_subcommands().front();
    const std::vector<std::string> extras = app.remaining(true);
    for (const std::string& extra : extras)
      if (extra.starts_with("-"))
        throw InputError(
            explain_unknown_name("flag", extra.substr(0, extra.find('=')), flag_names(*where)) +
            " See --help.");
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    if (!extras.empty() && where == &app && !commands.empty())
      throw InputError(explain_unknown_name("command", extras.front(), commands) + " See --help.");
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
      throw InputError("unexpected argument '" + extras.front() + "'. See --help.");
    throw InputError(explain_error(*where, error));
  }
  for (const CLI::App* where = &app; where != nullptr;
       where = where->get_subcommands().empty() ? nullptr : where->get_subcommands().front())
    refuse_empty(*where);
  return -1;
}

/// Splits at commas and reports empty values ("--precision fp32,,bf16"), which CLI11's delimiter
/// drops silently.
std::vector<std::string> commas(const std::string& flag,
                                const std::vector<std::string>& arguments) {
  std::vector<std::string> values;
  for (const std::string& text : arguments)
    for (const std::string& value : split(text, ',')) {
      if (value.empty())
        throw InputError("empty value in " + flag + " '" + text +
                         "'. Separate values by single commas.");
      values.push_back(value);
    }
  return values;
}

/// Help in the width of the terminal, else in at most help_width columns, without CLI11's "..."
/// after repeatable flags.
class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::optional<std::size_t> terminal) : terminal_(terminal) {}
  std::string make_description(const CLI::App* app) const override {
    const std::string text = CLI::Formatter::make_description(app);
    if (!terminal_) return text;
    std::string lines;
    for (const std::string& line : split(text, '\n'))
      lines += (lines.empty() ? "" : "\n") + assay::in_lines(line, *terminal_);
    return lines;
  }
  /// One blank line between groups instead of CLI11's two.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;)
      text.erase(at, 1);
    return text;
  }
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string help = command->get_description();
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(), in_lines(help.substr(0, help.find('\n'))),
                             get_column_width());
    return out.str();
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_lnames().empty()) return "";  // a positional argument is its own value
    return (option->get_type_name().empty() ? "" : " " + option->get_type_name()) +
           (option->get_required() ? " REQUIRED" : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return in_lines(option->get_description());
  }

 private:
  std::string in_lines(const std::string& description) const {
    return assay::in_lines(description, terminal_.value_or(help_width) - get_column_width());
  }

  std::optional<std::size_t> terminal_;
};

/// The flags of a command in CLI11, and the values that it finds.
class Flags {
 public:
  Flags(CLI::App& app, const Command& command) : command_(command), values_(command.flags.size()) {
    const std::optional<std::size_t> terminal = find_terminal_width(STDOUT_FILENO);
    app.footer(make_footer(command, terminal));
    app.formatter(std::make_shared<HelpFormatter>(terminal));
    for (std::size_t i = 0; i < command.flags.size(); ++i) add(app, command.flags[i], values_[i]);
    app.set_help_flag();  // again, so that it comes after the command's own flags
    app.set_help_flag("-h,--help", "print this help")->group("General");
    app.add_option("--help-as", help_as_, help_as_flag.help)
        ->type_name(help_as_flag.value)
        ->group("General");
  }

  Arguments arguments() const {
    Arguments arguments;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const Flag& flag = command_.flags[i];
      if (options_[i]->count() == 0 || (flag.is_switch() && !is_on(*options_[i]))) continue;
      std::vector<std::string> values = values_[i];
      if (flag.is_switch()) values = {""};
      if (!flag.positional() && flag.many) values = commas(flag.name, values);
      arguments[flag.positional() ? flag.name : flag.name.substr(2)] = std::move(values);
    }
    return arguments;
  }

 private:
  void add(CLI::App& app, const Flag& flag, std::vector<std::string>& values) {
    const std::string names = flag.positional() ? flag.name : join(flag.names(), ",");
    CLI::Option* const option =
        flag.is_switch() ? app.add_flag(names) : with_value(app, names, flag, values);
    option->description(flag.text());
    if (!flag.group.empty()) option->group(flag.group);
    if (flag.required) option->required();
    options_.push_back(option);
  }

  static CLI::Option* with_value(CLI::App& app, const std::string& names, const Flag& flag,
                                 std::vector<std::string>& values) {
    CLI::Option* const option = app.add_option(names, values);
    if (!flag.value.empty()) option->type_name(flag.value);
    // A flag takes one value at a time, so that "--baseline a FILE" leaves FILE to the
    // positional argument, and BASE leaves the next word to NEW.
    if (!flag.positional() || !flag.many) option->allow_extra_args(false);
    if (!flag.many) option->expected(1);
    return option;
  }

  const Command& command_;
  std::vector<std::vector<std::string>> values_;
  std::vector<CLI::Option*> options_;  ///< by flag
  std::string help_as_;
};

/// --version belongs to the program, not to each command.
void name_version(CLI::App& app) {
  app.set_version_flag("--version", "assay " + format_version(), "print the version and the commit")
      ->group("General");
}

Command help_command(const CLI::App& app, const std::vector<std::string>& names) {
  const auto run = [&app, names](const Arguments& arguments) {
    const CLI::App* shown = &app;
    std::string name = app.get_name();
    if (const auto command_name = arguments.find("COMMAND"); command_name != arguments.end()) {
      const std::string& command = command_name->second.front();
      if (std::find(names.begin(), names.end(), command) == names.end())
        throw InputError(explain_unknown_name("command", command, names) + " See --help.");
      shown = app.get_subcommand(command);
      name += " " + command;
    }
    std::cout << shown->get_formatter()->make_help(shown, name, CLI::AppFormatMode::Normal);
    return static_cast<int>(ExitCode::ok);
  };
  return {
      "help",
      "Print the help of a command.",
      {{"COMMAND", "command of assay", "COMMAND", "the list of commands", false, false, "", names}},
      run,
      {{"assay help", "lists the commands"},
       {"assay help run", "prints what `assay run --help` prints"}}};
}

}  // namespace

std::optional<Arguments> parse_command(const Command& program, int argc, const char* const* argv,
                                       int& exit) {
  if (const auto text = manual_asked_for(program, {}, argc, argv)) {
    std::cout << *text;
    exit = 0;
    return std::nullopt;
  }
  CLI::App app(program.help, program.name);
  const Flags flags(app, program);
  name_version(app);
  exit = parse(app, argc, argv);
  if (exit >= 0) return std::nullopt;
  return flags.arguments();
}

int command_main(const Command& program, const std::vector<Command>& commands, int argc,
                 const char* const* argv) {
  return run_guarded(program.name, [&] {
    environment::unbind_this_thread();
    CLI::App app(program.help, program.name);
    app.require_subcommand(1);
    const Flags own(app, program);
    name_version(app);
    std::vector<Command> all = commands;
    std::vector<std::string> names;
    for (const Command& command : commands) names.push_back(command.name);
    all.push_back(help_command(app, names));
    if (const auto text = manual_asked_for(program, all, argc, argv)) {
      std::cout << *text;
      return static_cast<int>(ExitCode::ok);
    }
    std::deque<Flags> flags;  // CLI11 keeps the addresses of the values
    for (const Command& command : all) {
      CLI::App* const added = app.add_subcommand(command.name, command.help);
      if (!command.group.empty()) added->group(command.group);
      flags.emplace_back(*added, command);
    }
    const int exit = parse(app, argc, argv);
    if (exit >= 0) return exit;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (app.got_subcommand(all[i].name)) return all[i].run(flags[i].arguments());
    throw InputError("no command. See --help.");
  });
}

int run_guarded(const std::string& program, const std::function<int()>& body) {
  fill_standard_streams();
  const EscapedErrors escaped_errors;
  limit_teams();
  survive_size_limit();
  try {
    const int code = body();
    const auto why = why_output_lost();
    if (!why) return code;
    // Results that were not written are lost.
    std::cerr << program << ": " << *why << std::endl;
    return static_cast<int>(find_gravest(static_cast<ExitCode>(code), ExitCode::failed));
  } catch (const InputError& error) {
    std::cerr << program << ": " << message_text(error.what()) << std::endl;
    return static_cast<int>(ExitCode::usage);
  } catch (const std::filesystem::filesystem_error& error) {
    // A path that cannot be resolved (a circle of links, too long, in an unreadable folder).
    std::cerr << program << ": "
              << message_text(error.path1().string() + ": cannot be used (" +
                              error.code().message() + "). Check the name and its permissions.")
              << std::endl;
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    std::cerr << program << ": " << message_text(error.what()) << std::endl;
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace assay
