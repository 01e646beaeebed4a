#pragma once
// Man pages and completions for bash. They are made from the same data as --help, so they have all
// its flags. `cmake --install` writes them to share/man and share/bash-completion.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/program/command.hpp"

namespace assay {

/// --help-as man|bash, a flag of every program and of every command of `assay`.
extern const Flag help_as_flag;

/// The man page (section 1, in roff) of `command` ("assay run"), with a list of its `subcommands`.
std::string render_man_page(const Command& command, const std::vector<Command>& subcommands);

/// The completion for bash of commands, flags, and values from fixed lists. zsh can load it with
/// bashcompinit.
std::string render_bash_completion(const Command& program, const std::vector<Command>& commands);

inline constexpr std::size_t help_width = 100;  ///< columns of --help without a terminal
/// The text with line breaks for blanks, so that lines are shorter than `width` (a longer word has
/// a line of its own).
std::string in_lines(const std::string& text, std::size_t width);

/// The end of --help: examples and exit codes. For a terminal of this many columns a long example
/// is broken as in a shell script; else it stays one line, which scripts can read.
std::string make_footer(const Command& command, std::optional<std::size_t> terminal = std::nullopt);

/// The text that --help-as requests, or nothing if it is not given. InputError for another format.
std::optional<std::string> manual_asked_for(const Command& program,
                                            const std::vector<Command>& commands, int argc,
                                            const char* const* argv);

}  // namespace assay
