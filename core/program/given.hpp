#pragma once
// The values of flags that a command line gives.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/program/command.hpp"

namespace assay {

/// The single value of a flag, or nothing.
std::optional<std::string> read_value(const Arguments& arguments, const std::string& flag);
std::vector<std::string> read_values(const Arguments& arguments, const std::string& flag);
/// The value of a flag as a positive finite number of seconds. InputError, naming the flag, for
/// anything else.
std::optional<double> read_seconds(const Arguments& arguments, const std::string& flag);
/// The value of a flag as a whole number from `least` to `most`. InputError, naming the flag, for
/// anything else.
std::optional<std::uint64_t> read_whole_number(const Arguments& arguments, const std::string& flag,
                                               std::uint64_t least, std::uint64_t most);
/// The value of a flag, which must be one of `valid`; the first of them if the flag is not given.
/// InputError with the nearest name.
std::string read_choice(const Arguments& arguments, const std::string& flag,
                        const std::vector<std::string>& valid);
/// The value of a flag as a number from `least` to `most`. InputError, naming the flag, for
/// anything else.
std::optional<double> read_number(const Arguments& arguments, const std::string& flag, double least,
                                  double most);

/// The command line, for the record: `command`, the values of `positional` in this order, then the
/// flags by name: "assay run smoke --launches 3".
std::string command_line(const std::string& command, const std::vector<std::string>& positional,
                         const Arguments& arguments);

/// check_output for each of `flags` that is given. InputError also if two of them name the same
/// file.
void check_outputs(const Arguments& arguments, const std::vector<std::string>& flags,
                   const std::vector<std::string>& inputs);
/// InputError if any of `flags` is given, naming the first: "--out cannot be used with --list
/// (nothing is run). Leave one of them out."
void refuse_flags(const Arguments& arguments, const std::vector<std::string>& flags,
                  const std::string& other, const std::string& why);

/// Writes `text` to the file of --out (through a temporary file that is synced and renamed), else
/// to stdout.
void emit(const Arguments& arguments, const std::string& text);

}  // namespace assay
