#include "core/program/row_details.hpp"

#include <fmt/format.h>

#include "core/base/units.hpp"

namespace assay {

std::string row_details(const Row& row) {
  std::string text;
  const auto counted = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (const auto& time = row.time_s)
    text = fmt::format("{}, {} of {}, stopped by {}",
                       counted(time->warmup_runs.value_or(0), "warm-up run"),
                       counted(time->n.value_or(0), "sample"),
                       counted(time->batch.value_or(1), "run"), time->stopped_by);
  if (const auto& verification = row.verification; verification && verification->max_error)
    text += fmt::format("{}largest error {:.1e} against {}, {} elements checked",
                        text.empty() ? "" : "; ", *verification->max_error, verification->reference,
                        verification->checked.value_or(0));
  if (row.energy_j) text += fmt::format("; {} a run", human(*row.energy_j, "J"));
  for (const auto& [step, seconds] : row.setup_s)
    if (seconds)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", step, human_seconds(*seconds));
  return text;
}

}  // namespace assay
