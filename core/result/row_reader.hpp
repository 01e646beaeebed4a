#pragma once
// Result files of many rows (a fleet's): each row is checked as it is read, by several threads, and
// only what a command needs of it stays in memory.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace assay {

/// Called once a row is checked; erases from it what the caller does not need, and returns whether
/// the row is kept. `text` is the row as JSON, as its file has it; `head` is the result without
/// rows. Called by several threads, in any order; it depends on what it is given alone.
using KeepRow =
    std::function<bool(nlohmann::json& row, std::string_view text, const nlohmann::json& head)>;

/// read_result, with the same checks and errors, and of each row what `keep` leaves.
nlohmann::json read_result_rows(const std::filesystem::path& file, const KeepRow& keep,
                                std::size_t threads);

}  // namespace assay
