#pragma once
// The flags for starting processes, shared by `assay run` and `assay job`.

#include <cstdint>
#include <string>
#include <vector>

#include "core/program/command.hpp"
#include "runner/launch/processes.hpp"

namespace assay {

std::vector<Flag> process_flags();
/// The values of these flags. InputError, naming the flag, for an invalid one.
ProcessRequest process_request(const Given& given);

/// All that the flags of a run, and its suite, name: files among them are what the run reads.
std::vector<std::string> named_by(const Given& given);

/// Seconds of a time limit in the notation of batch systems: "90", "90:00" and "01:30:00" are
/// ninety minutes. InputError, naming `flag`, for an invalid text or less than `least` seconds.
std::uint64_t clock_time(const std::string& flag, const std::string& text, std::uint64_t least);
/// "01:30:00".
std::string clock_text(std::uint64_t seconds);

}  // namespace assay
