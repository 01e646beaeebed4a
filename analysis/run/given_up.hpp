#pragma once
// Rows that came too late: a job that is being ended may still come to some.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace assay {

/// Which process of a run an event or a row is of: benchmark, launch, attempt.
using Process = std::tuple<std::string, int, int>;
Process process_of(const nlohmann::json& one);

/// The event that says of a process: its time was over when it had written `rows` rows.
nlohmann::json given_up(const std::string& benchmark, int launch, int attempt, std::size_t rows);

/// The events without those rows that a process wrote after its time was over. Wherever its
/// given_up stands: it is written when the process is dead, since one that is stopped may hold the
/// journal's lock.
std::vector<nlohmann::json> without_late_rows(std::vector<nlohmann::json> events);

/// read_journal, of a run: every event checked (journal_check.hpp), without late rows.
std::vector<nlohmann::json> read_run(const std::filesystem::path& journal);

}  // namespace assay
