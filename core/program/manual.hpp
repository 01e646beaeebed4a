#pragma once
// Man pages and completions for bash, made of a command line's data, so that they have every flag
// that --help has. `cmake --install` writes them to share/man and share/bash-completion.

#include <optional>
#include <string>
#include <vector>

#include "core/program/command.hpp"

namespace assay {

/// --help-as man|bash, which every program and every command of `assay` takes.
extern const Flag help_as_flag;

/// The man page (section 1, roff) of `command`, whose name may be "assay run"; `subcommands` are
/// listed.
std::string man_page(const Command& command, const std::vector<Command>& subcommands);

/// A completion for bash: of flags, of the values of closed lists, and of commands. zsh reads it
/// through bashcompinit.
std::string bash_completion(const Command& program, const std::vector<Command>& commands);

/// Examples and exit codes as --help ends with them.
std::string footer_of(const Command& command);

/// What --help-as asks for, or nothing where it is not given. InputError for another format.
std::optional<std::string> manual_asked_for(const Command& program,
                                            const std::vector<Command>& commands, int argc,
                                            const char* const* argv);

}  // namespace assay
