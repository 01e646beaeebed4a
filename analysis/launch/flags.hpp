#pragma once
// The flags that say how processes are started: the same in `assay run` and `assay job`.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run/processes.hpp"
#include "core/program/command.hpp"

namespace assay {

std::vector<Flag> process_flags();
/// What these flags ask for. InputError naming the flag.
ProcessRequest process_request(const Given& given);

/// Seconds of a time as batch systems take it: "90", "90:00" and "01:30:00" are ninety minutes.
/// InputError naming `flag` for what is none, or less than `least`.
std::uint64_t clock_time(const std::string& flag, const std::string& text, std::uint64_t least);
/// "01:30:00".
std::string clock_text(std::uint64_t seconds);

}  // namespace assay
