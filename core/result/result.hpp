#pragma once
// Rows and result files ("assay-result/1"). results-schema/result.schema.json is the contract.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/case.hpp"
#include "core/measure/outcome.hpp"

namespace assay {

inline constexpr const char* result_schema = "assay-result/1";

/// A row without "baseline" (see baseline.hpp). An incorrect row keeps its verification but no time
/// and no rate: a wrong number is never reported as a result.
nlohmann::json make_row(const std::string& benchmark, const Case& benchmark_case,
                        const Problem* problem, const Outcome& outcome, int environment, int launch,
                        int attempt, int ranks, int nodes);

/// A result document without rows. An empty `run_id` becomes one of time and process.
nlohmann::json make_result(const std::string& run_id, const std::string& suite,
                           const std::string& command, std::uint64_t seed,
                           const std::string& started);

/// Reads a result file: schema, version ("written by a newer version …"), unique (id, environment,
/// launch, attempt), finite non-negative times, numbers that follow from each other
/// (core/result/result_check.hpp). A folder stands for its result.json.
nlohmann::json read_result(const std::filesystem::path& file);

/// The exit code that these rows ask for; `required` unsupported rows count as failed.
ExitCode exit_code(const nlohmann::json& rows);

/// A value of a row's "metrics" with six significant digits and its unit: "0.97", "1.2e+07 J".
std::string human_metric(const nlohmann::json& metric);

/// Part of one processor that, missing while a row was timed, makes its times doubtful.
inline constexpr double shared_above = 0.05;
/// Whether others wanted the processors while the row was timed: a hypervisor took some
/// (time_s.stolen), or threads waited (.waiting) while there was foreign work (.foreign; unknown
/// counts as some).
bool was_shared(const nlohmann::json& row);
/// Whether its threads waited for each other, or for other ranks of the job: more of them than
/// processors. No foreign work is to blame, and a repetition shows the same.
bool was_oversubscribed(const nlohmann::json& row);
/// The mark behind every number that comes from the row's time: "!", "~", or "".
std::string mark_of(const nlohmann::json& row);
inline constexpr const char* shared_note =
    "! Timed while other processes used the processors: the time is an upper limit (time_s.stolen, "
    "or time_s.waiting and time_s.foreign, above 5 % of a processor). Repeat on a quiet machine.";
inline constexpr const char* oversubscribed_note =
    "~ Oversubscribed: threads waited for other threads or ranks of the same job (time_s.waiting "
    "above 5 % of a processor, time_s.foreign below). A repetition does not change it.";

}  // namespace assay
