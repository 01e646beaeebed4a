#pragma once
// The subcommands of `assay`. Each has a file <name>_command.cpp with a function `Command
// <name>_command()`; the build collects them. They read and write result files; no benchmark is
// linked in.

#include <vector>

#include "core/program/given.hpp"
#include "core/program/options.hpp"

namespace assay {

/// All subcommands, sorted by name.
std::vector<Command> all_commands();

}  // namespace assay
