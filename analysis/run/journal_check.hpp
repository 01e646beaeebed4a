#pragma once
// What a journal's events must be before they are used.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace assay {

/// InputError with file, line, JSON pointer, found and expected, for an event that is malformed
/// (journal.schema.json) or whose row, environment or bracket would be refused in a result file.
/// `events` are those of the file's lines, from the first on.
void check_events(const std::vector<nlohmann::json>& events, const std::filesystem::path& file);

}  // namespace assay
