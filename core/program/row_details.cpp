#include "core/program/row_details.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

std::string row_details(const json& row) {
  std::string text;
  if (const json& time = row.at("time_s"); time.is_object())
    text = fmt::format("{} warm-up runs, {} samples of {} runs, stopped by {}",
                       time.at("warmup_runs").get<int>(), time.at("n").get<int>(),
                       time.at("batch").get<int>(), time.at("stopped_by").get<std::string>());
  const json& verification = row.at("verification");
  if (verification.is_object() && verification.at("max_error").is_number())
    text += fmt::format("{}largest error {:.1e} against {}, {} elements checked",
                        text.empty() ? "" : "; ", verification.at("max_error").get<double>(),
                        verification.at("reference").get<std::string>(),
                        verification.at("checked").dump());
  if (const json joules = row.value("energy_j", json()); joules.is_number())
    text += fmt::format("; {} a run", human(joules.get<double>(), "J"));
  for (const auto& [step, seconds] : row.at("setup_s").items())
    if (seconds.is_number())
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", step,
                          human_seconds(seconds.get<double>()));
  return text;
}

}  // namespace assay
