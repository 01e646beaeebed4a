#pragma once
// Removes the late rows of abandoned attempts: a job that is being terminated may still write rows.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace assay {

/// The process of a run that an event or a row belongs to: benchmark, launch, attempt.
using Process = std::tuple<std::string, int, int>;
Process process_of(const nlohmann::json& event_or_row);

/// The journal's event "given_up": the process was abandoned when it had written `rows` rows.
nlohmann::json abandoned_event(const std::string& benchmark, int launch, int attempt,
                               std::size_t rows);

/// The events without the rows that a process wrote after it was abandoned. The position of its
/// event "given_up" does not matter: it is written when the process is dead, since a stopped
/// process may hold the journal's lock.
std::vector<nlohmann::json> without_late_rows(std::vector<nlohmann::json> events);

/// Reads the journal of a run: read_journal, with every event checked (journal_check.hpp) and late
/// rows removed.
std::vector<nlohmann::json> read_run(const std::filesystem::path& journal);

}  // namespace assay
