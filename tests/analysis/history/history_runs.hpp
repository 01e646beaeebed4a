#pragma once
// Runs for tests of histories.

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "analysis/series.hpp"
#include "tests/support/rows.hpp"

namespace assay::test {

/// The time of a day in months of 28 days, from 0.
inline std::string history_day(int day) {
  return fmt::format("2026-{:02}-{:02}T08:00:00.000Z", 1 + day / 28, 1 + day % 28);
}

/// The run of a day, "run-<day>" in "file-<day>", on a machine of this hardware with this version
/// of a library. The names of both are their hashes.
inline NamedResult history_run(int day, std::vector<nlohmann::json> rows,
                               const std::string& hardware = "hw",
                               const std::string& software = "3.0") {
  NamedResult run{fmt::format("file-{}", day), result(std::move(rows))};
  run.result.run.id = fmt::format("run-{}", day);
  run.result.run.started = run.result.run.finished = history_day(day);
  run.result.system = "system";
  ResultEnvironment environment;
  environment.host = "node";
  environment.hardware = nlohmann::json::object();
  environment.software = {{"libraries", {{"onednn", software}}}};
  environment.hashes = {hardware, software};
  run.result.environments = {environment};
  return run;
}

/// A run of each day, with a row of this time.
inline std::vector<NamedResult> times(const std::vector<double>& seconds) {
  std::vector<NamedResult> runs;
  for (const double time : seconds)
    runs.push_back(history_run(static_cast<int>(runs.size()), {row("ok", time)}));
  return runs;
}

/// Noise of 1 % about 1 s, times what `level` gives for each point.
template <class Level>
std::vector<double> noisy(std::size_t n, std::uint64_t seed, Level level) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> normal(0, 0.01);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(level(i) * std::exp(normal(random)));
  return values;
}

}  // namespace assay::test
