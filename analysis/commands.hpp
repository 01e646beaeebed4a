#pragma once
// The subcommands of `assay`, one file <name>_command.cpp each, with a function `Command
// <name>_command()`; the build collects them. They read and write result files; no benchmark is
// linked in.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/program/options.hpp"

namespace assay {

/// All subcommands, sorted by name.
std::vector<Command> all_commands();

/// The single value of a flag, or nothing.
std::optional<std::string> value_of(const Given& given, const std::string& flag);
/// All values of a flag.
std::vector<std::string> values_of(const Given& given, const std::string& flag);
/// The value of a flag as a positive finite number of seconds. InputError, naming the flag, for
/// anything else.
std::optional<double> seconds_of(const Given& given, const std::string& flag);
/// The value of a flag as a whole number from `least` to `most`. InputError, naming the flag, for
/// anything else.
std::optional<std::uint64_t> whole_of(const Given& given, const std::string& flag,
                                      std::uint64_t least, std::uint64_t most);

/// The value of a flag, one of `valid`; the first of these where the flag is not given. InputError
/// with the nearest name.
std::string choice_of(const Given& given, const std::string& flag,
                      const std::vector<std::string>& valid);
/// The value of a flag as a number from `least` to `most`. InputError, naming the flag, for
/// anything else.
std::optional<double> number_of(const Given& given, const std::string& flag, double least,
                                double most);

/// Checks a document before it is written, so that no program writes what it would refuse to read:
/// std::runtime_error if it violates results-schema/<kind>.schema.json.
void check_own(const nlohmann::json& document, const std::string& kind);

/// check_output for each of `flags` that is given. InputError also if two of them name the same
/// file.
void check_outputs(const Given& given, const std::vector<std::string>& flags,
                   const std::vector<std::string>& inputs);

/// InputError if any of `flags` is given, naming the first: "--out cannot be used with --list
/// (nothing is run). Leave one of them out."
void refuse_flags(const Given& given, const std::vector<std::string>& flags,
                  const std::string& other, const std::string& why);

/// Writes `text` to the file of --out (through a temporary file that is synced and renamed), else
/// to stdout.
void emit(const Given& given, const std::string& text);

}  // namespace assay
