#pragma once
// The files of a benchmark's program: its result (--out), and the journal beside it.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/program/options.hpp"

namespace assay {

/// InputError if --out cannot be written or is an input.
void check_out(const RunRequest& request);

/// The journal beside --out, where --journal names none: finished rows outlive the process.
/// Nothing without --out, and for a pipe or a device.
std::optional<std::filesystem::path> own_journal(const RunRequest& request);

/// What a program still says on stderr when a signal ends it.
std::string recovery_note(const std::string& program, const std::filesystem::path& journal);

/// InputError if the journal holds the rows of another process.
void expect_no_earlier_rows(const std::filesystem::path& journal);

/// Finishes the result and writes it to --out. CaseError if it cannot be written: it is on stdout
/// then.
void write_result(nlohmann::json result, const RunRequest& request);

}  // namespace assay
