#include "core/result/impossible.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "core/result/result_check.hpp"

namespace assay {

using nlohmann::json;

bool bounded_by_native(const json& row) {
  const char* limited = std::getenv("ASSAY_NATIVE_TARGET");
  return limited == nullptr || *limited == '\0' ||
         row.at("parameters").value("backend", "") == "native";
}

std::optional<std::string> why_impossible(double median_s, const LeastTime& least) {
  // A clock that shows nothing for a run proves nothing where the run may be below what it resolves
  // (0.5 us of a GPU's events).
  constexpr double resolution = 1e-6;
  const bool below =
      median_s > 0 ? least.seconds >= impossible_from * median_s : least.seconds > resolution;
  if (!below) return std::nullopt;
  return fmt::format(
      "impossible: {:.3g} s, where the machine's {} allows no less than {:.3g} s (the row did not "
      "do its work, did it on more processors than it says, or its clock is wrong). Check the "
      "backend.",
      median_s, least.bound_by, least.seconds);
}

std::optional<double> operations_done(const json& row) {
  const json really = row.at("executed").value("algorithmic_flops", json());
  if (really.is_number()) return really.get<double>();
  const json algorithm = row.at("executed").at("algorithm");
  if (algorithm.is_string() && saves_operations(algorithm)) return std::nullopt;
  const json nominal = row.at("problem").value("flops", json());
  return nominal.is_number() ? nominal.get<double>() : 0;
}

void take_back(json& row, const std::string& reason) {
  row["status"] = "failed";
  row["reason"] = reason;
  row["time_s"] = nullptr;
  row["samples_s"] = json::array();
  row["rates"] = json::object();
  row.erase("metrics");
  row.erase("epochs");
  row.erase("layers");
  row.erase("layers_sum");
  row["baseline"] = nullptr;
  row.erase("baseline_reason");
  row["energy_j"] = row["energy_domains_j"] = nullptr;
  row["energy_reason"] = "the row has no time";
  row["ceiling"] = nullptr;
  row["ceiling_reason"] = "the row has no time";
  if (row.at("executed").is_object())
    for (const char* part : {"exposed_s", "kernels_s"}) row["executed"].erase(part);
}

}  // namespace assay
