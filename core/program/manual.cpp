#include "core/program/manual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"

namespace assay {

const Flag help_as_flag{
    "--help-as", "print this help as a man page, or as a completion for bash and zsh",
    "FORMAT",    "",
    false,       false,
    "General",   {"man", "bash"}};

namespace {

const std::vector<Flag>& general_flags() {
  static const std::vector<Flag> flags{
      {"--help", "print this help", "", "", false, false, "General", {}, {"-h"}}, help_as_flag};
  return flags;
}

std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> flags = command.flags;
  flags.insert(flags.end(), general_flags().begin(), general_flags().end());
  if (command.name.find(' ') == std::string::npos)
    flags.push_back(
        {"--version", "print the version and the commit", "", "", false, false, "General"});
  return flags;
}

/// Escapes text for roff, where '-' is a hyphen and a leading '.' or '\'' begins a request.
std::string roff(const std::string& text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if ((c == '.' || c == '\'') && (i == 0 || text[i - 1] == '\n'))
      safe += std::string("\\&") + c;
    else
      safe += c;
  }
  return safe;
}

/// "--out" of "--out DIR" in bold, the value in italics.
std::string man_flag(const Flag& flag) {
  std::string names;
  for (const std::string& name : flag.names())
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (flag.positional()) return "\\fI" + roff(flag.name) + "\\fR";
  return names + (flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR");
}

/// The headings in the order in which they are first used.
std::vector<std::string> headings(const std::vector<Flag>& flags) {
  std::vector<std::string> all;
  for (const Flag& flag : flags) {
    const std::string heading = flag.positional()    ? "Arguments"
                                : flag.group.empty() ? "Options"
                                                     : flag.group;
    if (std::find(all.begin(), all.end(), heading) == all.end()) all.push_back(heading);
  }
  return all;
}

bool stands_under(const Flag& flag, const std::string& heading) {
  if (flag.positional()) return heading == "Arguments";
  return heading == (flag.group.empty() ? "Options" : flag.group);
}

std::string page_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string join_words(const std::vector<Flag>& flags) {
  std::vector<std::string> all;
  for (const Flag& flag : flags)
    for (const std::string& name : flag.names()) all.push_back(name);
  return join(all, " ");
}

/// The body of a bash function: proposes for `word` after `before`.
std::string completion_body(const std::vector<Flag>& flags, const std::string& indent) {
  std::string body = indent + "case $before in\n";
  std::string first_choices;
  for (const Flag& flag : flags) {
    if (flag.positional()) {
      if (first_choices.empty()) first_choices = join(flag.choices, " ");
      continue;
    }
    if (flag.is_switch()) continue;
    body += fmt::format("{}  {})", indent, join(flag.names(), "|"));
    if (!flag.choices.empty())
      body +=
          fmt::format(" COMPREPLY=($(compgen -W \"{}\" -- \"$word\"));", join(flag.choices, " "));
    body += " return ;;\n";
  }
  body += indent + "esac\n";
  body += fmt::format(
      "{}if [[ $word == -* ]]; then\n{}  COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n", indent,
      indent, join_words(flags));
  if (!first_choices.empty())
    body += fmt::format("{}else\n{}  COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n", indent,
                        indent, first_choices);
  return body + indent + "fi\n";
}

}  // namespace

std::string render_man_page(const Command& command, const std::vector<Command>& subcommands) {
  const std::string title = page_name(command.name);
  std::string upper = title;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string summary = command.help.substr(0, command.help.find('\n'));
  std::string page =
      fmt::format(".TH {} 1 \"\" \"{}\" \"Assay\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR",
                  upper, "assay " + version(), roff(title), roff(summary), roff(command.name));
  page += subcommands.empty() ? " [\\fIOPTIONS\\fR]" : " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]";
  for (const Flag& flag : command.flags)
    if (flag.positional())
      page += (flag.required ? " " : " [") + man_flag(flag) + (flag.many ? "..." : "") +
              (flag.required ? "" : "]");
  page += "\n.SH DESCRIPTION\n" + roff(command.help) + "\n";
  if (!subcommands.empty()) page += ".SH COMMANDS\n";
  for (const Command& sub : subcommands)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(sub.name), roff(sub.help));
  const std::vector<Flag> flags = all_flags(command);
  page += ".SH OPTIONS\n";
  for (const std::string& heading : headings(flags)) {
    page += fmt::format(".SS \"{}\"\n", roff(heading));
    for (const Flag& flag : flags)
      if (stands_under(flag, heading))
        page += fmt::format(".TP\n{}\n{}\n", man_flag(flag), roff(flag.text()));
  }
  if (!command.examples.empty()) page += ".SH EXAMPLES\n";
  for (const Example& example : command.examples)
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(example.line), roff(example.meaning));
  if (!command.exit_codes.empty()) page += ".SH EXIT STATUS\n" + roff(command.exit_codes) + "\n";
  std::vector<std::string> others;
  for (const Command& sub : subcommands)
    others.push_back("\\fB" + roff(command.name + "-" + sub.name) + "\\fR(1)");
  if (others.empty() && command.name != "assay") others.push_back("\\fBassay\\fR(1)");
  return page + ".SH SEE ALSO\n" + join(others, ", ") + "\n";
}

std::string render_bash_completion(const Command& program, const std::vector<Command>& commands) {
  std::string function = "_" + program.name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string text = fmt::format(
      "# Completion of {0} for bash, printed by `{0} --help-as bash`.\n"
      "# zsh: autoload -U +X bashcompinit && bashcompinit, then source this file.\n"
      "{1}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n",
      program.name, function);
  if (commands.empty()) {
    text += completion_body(all_flags(program), "  ");
  } else {
    std::vector<std::string> names;
    for (const Command& command : commands) names.push_back(command.name);
    text += fmt::format(
        "  if ((COMP_CWORD == 1)); then\n"
        "    COMPREPLY=($(compgen -W \"{} {}\" -- \"$word\"))\n"
        "    return\n"
        "  fi\n"
        "  case ${{COMP_WORDS[1]}} in\n",
        join(names, " "), join_words(all_flags(program)));
    for (const Command& command : commands) {
      Command whole = command;
      whole.name = program.name + " " + command.name;
      text += fmt::format("    {})\n{}      ;;\n", command.name,
                          completion_body(all_flags(whole), "      "));
    }
    text += "  esac\n";
  }
  // The shell proposes files if nothing else is proposed.
  return text + fmt::format("}}\ncomplete -o default -F {} {}\n", function, program.name);
}

std::string in_lines(const std::string& text, std::size_t width) {
  std::string lines;
  std::size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    if (column + word.size() >= width) {
      lines += '\n';
      column = 0;
    }
    lines += (column > 0 ? " " : "") + word;
    column += word.size() + 1;
  }
  return lines;
}

namespace {

/// The lines of `text` with this indent.
std::string indent_text(const std::string& text, std::size_t width, const std::string& indent) {
  std::string lines;
  for (const std::string& line : split(in_lines(text, width - indent.size()), '\n'))
    lines += indent + line + "\n";
  return lines;
}

/// The position of the next " --" outside of quotes, from `at` on; else the end.
std::size_t next_flag(const std::string& command, std::size_t at) {
  char quote = 0;
  for (; at < command.size(); ++at) {
    const char c = command[at];
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (command.compare(at, 3, " --") == 0)
      break;
  }
  return at;
}

/// A command line for a shell, broken before flags so that lines fit `width`; a longer part stays
/// whole.
std::string in_shell_lines(const std::string& command, std::size_t width) {
  std::string lines, line = "  ";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = next_flag(command, at + 1);
    std::string part = command.substr(at, end - at);
    const std::size_t needed = line.size() + part.size() + (end < command.size() ? 2 : 0);
    if (at > 0 && needed > width) {
      lines += line + " \\\n";
      line = std::string(6, ' ');
      part.erase(0, 1);
    }
    line += part;
    at = end;
  }
  return lines + line + "\n";
}

}  // namespace

std::string make_footer(const Command& command, std::optional<std::size_t> terminal) {
  std::string text;
  for (const Example& example : command.examples) {
    if (text.empty()) text = "Examples:\n";
    text += terminal ? in_shell_lines(example.line, *terminal) +
                           indent_text(example.meaning, *terminal, "      ")
                     : fmt::format("  {}\n      {}\n", example.line, example.meaning);
  }
  if (!command.exit_codes.empty())
    text += (text.empty() ? "" : "\n") +
            in_lines("Exit codes: " + command.exit_codes + ".", terminal.value_or(help_width));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<std::string> manual_asked_for(const Command& program,
                                            const std::vector<Command>& commands, int argc,
                                            const char* const* argv) {
  std::optional<std::string> format;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--help-as="))
      format = std::string(word.substr(10));
    else if (word == help_as_flag.name)
      format = i + 1 < argc ? argv[i + 1] : "";
  }
  if (!format) return std::nullopt;
  if (std::find(help_as_flag.choices.begin(), help_as_flag.choices.end(), *format) ==
      help_as_flag.choices.end())
    throw InputError(explain_unknown_name(help_as_flag.name, *format, help_as_flag.choices));
  if (*format == "bash") return render_bash_completion(program, commands);
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& each) {
    return each.name == std::string_view(argv[1]);
  });
  if (command == commands.end()) return render_man_page(program, commands);
  Command whole = *command;
  whole.name = program.name + " " + command->name;
  return render_man_page(whole, {});
}

}  // namespace assay
