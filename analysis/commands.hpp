#pragma once
// The subcommands of `assay`, one source file each. They read and write result files; no benchmark
// is linked in.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/options.hpp"

namespace assay {

/// Values by flag name without dashes, as core/options.hpp hands them over.
using Given = std::map<std::string, std::vector<std::string>>;

Command run_command();
Command validate_command();
Command env_command();
Command list_command();
Command table_command();

/// The single value of a flag, or nothing.
std::optional<std::string> value_of(const Given& given, const std::string& flag);
/// All values of a flag.
std::vector<std::string> values_of(const Given& given, const std::string& flag);
/// A positive finite number of seconds; InputError naming the flag.
std::optional<double> seconds_of(const Given& given, const std::string& flag);
/// A whole number from `least` to `most`; InputError naming the flag.
std::optional<std::uint64_t> whole_of(const Given& given, const std::string& flag,
                                      std::uint64_t least, std::uint64_t most);

}  // namespace assay
