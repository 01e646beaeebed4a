#pragma once
// The files that a benchmark's program writes: its result (--out) and its journal.

#include <filesystem>
#include <optional>
#include <string>

#include "core/program/options.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// InputError if --out or --benchmark_out, where given, cannot be written or is one of the inputs.
void check_out(const Benchmark& benchmark, const RunRequest& request);

/// The journal that the program writes beside --out, so that finished rows survive a crash. Nothing
/// if --journal names one, without --out, and if --out is a pipe or a device.
std::optional<std::filesystem::path> own_journal(const RunRequest& request);

/// The words on where the finished rows of a program are, with a space before them.
std::string describe_rows_location(const std::filesystem::path& journal);

/// The message on stderr if a signal ends the program: describe_rows_location().
std::string recovery_note(const std::string& program, const std::filesystem::path& journal);

/// The head of the result of a program that runs by itself, and of its journal.
RunHeader own_header(const Benchmark& benchmark, const RunRequest& request,
                     const std::string& command, const std::string& started);

/// Completes the result and writes it to --out. If it cannot be written, prints it to stdout and
/// throws CaseError.
void write_result(RunResult result, const RunRequest& request);

/// Writes rows as JSON of Google Benchmark to stdout and to --benchmark_out, as requested.
void write_google_benchmark(const std::string& program, const std::vector<Row>& rows,
                            const RunRequest& request);

}  // namespace assay
