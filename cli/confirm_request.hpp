#pragma once
// Confirmations of suspect rows by runs of `assay run`.

#include <filesystem>
#include <optional>
#include <string>

#include "analysis/history/confirm.hpp"
#include "runner/run/run_plan.hpp"

namespace assay {

/// The request for the rows that are suspect in `run`. `plan` is that of the new build; the
/// launches have its settings. They are made in `folder`.
ConfirmRequest confirm_request(const RunPlan& plan, const std::filesystem::path& folder,
                               const std::string& run);
/// The same for the run of a result, which is repeated with the caller's own build. `launcher`: as
/// given by the caller. A result never chooses what is executed: InputError for another launcher in
/// it.
ConfirmRequest confirm_request(const NamedResult& result,
                               const std::optional<std::string>& launcher);

}  // namespace assay
