#pragma once
// Reading of result files with many rows (those of a fleet of nodes). Several threads check the
// rows as they are read, and only the parts that a command needs stay in memory.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/result/run_result.hpp"

namespace assay {

/// Called for each row after it was checked. Clears the parts that the caller does not need, and
/// returns whether to keep the row. `text`: the row's JSON text in its file; `head`: the result
/// without rows. Several threads call it, in any order; it must depend on its arguments alone.
using KeepRow = std::function<bool(Row& row, std::string_view text, const RunResult& head)>;

/// Reads a result with the same checks and errors as read_result(). Its rows are those that `keep`
/// has kept, in their order, as it left them.
RunResult read_result_rows(const std::filesystem::path& file, const KeepRow& keep,
                           std::size_t threads);

/// A result without its rows, unchecked, which is enough to identify it. Other files are read as by
/// read_json().
nlohmann::json read_head(const std::filesystem::path& file);

}  // namespace assay
