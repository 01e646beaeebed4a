#pragma once
// Validates the events of a journal before they are used.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace assay {

/// InputError with file, line, JSON pointer, found and expected value, for an event that violates
/// journal.schema.json or whose row, environment or bracket would be refused in a result file.
/// `events`: one for each line of the file, from the first.
void check_events(const std::vector<nlohmann::json>& events, const std::filesystem::path& file);

}  // namespace assay
