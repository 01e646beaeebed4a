#pragma once
// Result files of many rows (a fleet's): each row is checked as it is read, by several threads, and
// only what a command needs of it stays in memory.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace assay {

/// Called once a row is checked; erases from it what the caller does not need, and returns whether
/// the row is kept. `head` is the result without rows. Called by several threads, in any order; it
/// depends on the row and the head alone.
using KeepRow = std::function<bool(nlohmann::json& row, const nlohmann::json& head)>;

/// read_result, with the same checks and errors, and of each row what `keep` leaves.
nlohmann::json read_result_rows(const std::filesystem::path& file, const KeepRow& keep,
                                std::size_t threads);

}  // namespace assay
