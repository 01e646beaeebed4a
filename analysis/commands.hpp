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

/// All of them, in the order of their names.
std::vector<Command> all_commands();

/// The single value of a flag, or nothing.
std::optional<std::string> value_of(const Given& given, const std::string& flag);
/// All values of a flag.
std::vector<std::string> values_of(const Given& given, const std::string& flag);
/// A positive finite number of seconds; InputError naming the flag.
std::optional<double> seconds_of(const Given& given, const std::string& flag);
/// A whole number from `least` to `most`; InputError naming the flag.
std::optional<std::uint64_t> whole_of(const Given& given, const std::string& flag,
                                      std::uint64_t least, std::uint64_t most);

/// One of `valid`, the first where the flag is not given; InputError with the nearest name.
std::string choice_of(const Given& given, const std::string& flag,
                      const std::vector<std::string>& valid);
/// A number from `least` to `most`; InputError naming the flag.
std::optional<double> number_of(const Given& given, const std::string& flag, double least,
                                double most);

/// What a program writes it must itself accept: runtime_error if a document breaks its schema
/// results-schema/<kind>.schema.json.
void check_own(const nlohmann::json& document, const std::string& kind);

/// check_output for each of `flags` that is given, and that no two of them name one file.
void check_outputs(const Given& given, const std::vector<std::string>& flags,
                   const std::vector<std::string>& inputs);

/// InputError naming the first of `flags` that is given: "--out cannot be used with --list (nothing
/// is run). Leave one of them out."
void refuse_flags(const Given& given, const std::vector<std::string>& flags,
                  const std::string& other, const std::string& why);

/// Writes `text` where --out says (beside, synced, renamed), else to stdout.
void emit(const Given& given, const std::string& text);

}  // namespace assay
