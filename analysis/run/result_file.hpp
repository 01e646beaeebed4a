#pragma once
// The result file of a run, made from its journal.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/baseline.hpp"

namespace assay {

/// The result document of a journal's events: header from its "run" event, one environment for each
/// process that told one, every row with the index of its own, and the first of `baselines` that
/// has a comparable number. InputError if the events hold no "run".
nlohmann::json collect(const std::vector<nlohmann::json>& events,
                       const std::vector<Baseline>& baselines);

/// Whether a resumed run repeats the case of a row: it failed or was ended by the time limit. A
/// wrong result is a result, and stands.
bool may_be_repeated(const nlohmann::json& row);

/// collect of a journal, checked as a reader of the file would before it is called good, then
/// written to `file`.
/// `left_out`: ids of cases that no time was left for, which the result lists.
nlohmann::json write_result(const std::filesystem::path& journal, const std::filesystem::path& file,
                            const std::vector<Baseline>& baselines,
                            const std::vector<std::string>& left_out = {});

}  // namespace assay
