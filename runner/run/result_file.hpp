#pragma once
// Makes the result file of a run from its journal.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/baseline.hpp"

namespace assay {

/// The result document from the events of a journal: the header from the event "run", one
/// environment for each process that reported one, and all rows, each with the index of its
/// environment and the number of the first of `baselines` that has a comparable one. InputError if
/// there is no event "run". `left_out`: ids of the cases that did not run before the time limit;
/// the result lists them.
nlohmann::json collect(const std::vector<nlohmann::json>& events,
                       const std::vector<Baseline>& baselines,
                       const std::vector<std::string>& left_out = {});

/// Whether a resumed run repeats the case of this row: its status is failed or timeout. An
/// incorrect row is a finding, and is not repeated.
bool may_be_repeated(const nlohmann::json& row);

/// Writes collect() of the events of `journal` (read_run()) to `file` and returns it. The document
/// passes the checks of read_result before it replaces `file`.
nlohmann::json write_result(const std::vector<nlohmann::json>& events,
                            const std::filesystem::path& journal, const std::filesystem::path& file,
                            const std::vector<Baseline>& baselines,
                            const std::vector<std::string>& left_out = {});

}  // namespace assay
