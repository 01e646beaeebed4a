#pragma once
// Rows and results as make_row makes them, for tests of what reads them.

#include "analysis/series.hpp"
#include "core/base/clock.hpp"
#include "core/result/result.hpp"

namespace assay::test {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline nlohmann::json row(const std::string& status, double seconds, int launch = 0,
                          Settings more = {}, int attempt = 0, double flops = 1e9) {
  Case measured_case;
  measured_case.settings = {{"direction", "forward"},
                            {"precision", "fp32"},
                            {"backend", "onednn"},
                            {"algorithm", "direct"},
                            {"problem", "mb1ic8ih8oc8oh8kh3ph1"},
                            {"cache", "hot"},
                            {"threads", "2"}};
  for (const auto& [name, value] : more) measured_case.settings[name] = value;
  measured_case.id = measured_case.id_form = "conv";
  for (const auto& [name, value] : measured_case.settings) {
    measured_case.id += "/" + value;
    measured_case.id_form += "/{" + name + "}";
  }
  measured_case.names = {"list/first"};
  Outcome outcome;
  outcome.status = status;
  if (status != "ok") outcome.reason = "why it is " + status;
  if (status == "ok" || is_final(status)) {
    Verification verification;
    verification.passed = status != "incorrect";
    verification.reference = "fp64";
    verification.max_error = 1.5e-7;
    verification.bound = 1e-6;
    outcome.verification = verification;
    outcome.execution = Execution{};
    outcome.execution->algorithm = "direct";
    Timing timing;
    // Spread and in no order: a trend would count as one effective sample, without interval.
    for (int i = 0; i < 21; ++i)
      timing.samples.push_back(seconds * (1 + 0.001 * (i * 8 % 21 - 10)));
    timing.stopped_by = "precision";
    outcome.timing = timing;
    outcome.work = {{"flops_per_s", flops}};
  }
  nlohmann::json made = make_row("conv", measured_case, nullptr, outcome, 0, launch, attempt, 1, 1);
  made["problem"]["flops"] = flops;
  return made;
}

/// An allreduce of `bytes` on 8 ranks.
inline nlohmann::json collective(double bytes, double seconds, Settings more = {}) {
  more["problem"] = "n" + std::to_string(static_cast<long>(bytes));
  nlohmann::json made = row("ok", seconds, 0, more);
  made["benchmark"] = "allreduce";
  made["problem"]["bytes"] = bytes;
  made["rates"] = {{"busbw", 1.75 * bytes / made["time_s"]["median"].get<double>()}};
  return made;
}

inline nlohmann::json result(std::vector<nlohmann::json> rows) {
  nlohmann::json made = make_result(make_header("id", "suite", "command", 1, format_utc_now()));
  made["rows"] = rows;
  return made;
}

}  // namespace assay::test
