#include "core/result/burn_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/burn.hpp"

namespace assay {

using nlohmann::json;

namespace {
constexpr double most_runs = 0x1p53;
}

void check_burn(const json& row, const std::string& where) {
  const json& document = row.at("burn");
  const Burn burn = document.get<Burn>();
  const auto expect = [&](const char* field, double expected, const char* origin) {
    const json& actual = document.at(field);
    if (actual.is_number() &&
        std::fabs(actual.get<double>() - expected) <= 1e-9 * std::fabs(expected))
      return;
    throw InputError(
        fmt::format("{}/burn/{}: found {}, expected {} ({}). The file was changed by hand.", where,
                    field, actual.dump(), json(expected).dump(), origin));
  };
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("{}/burn/{}. The file was changed by hand.", where, what));
  };
  double runs = 0, poisoned = 0, seconds = 0, faulty = 0, undecided = 0;
  for (const Burn::Kind& data : burn.data) {
    if (!(data.runs <= most_runs)) refuse(fmt::format("data/{}/runs: above 2^53", data.name));
    if (!(data.faulty + data.undecided <= data.runs))
      refuse(fmt::format("data/{}: more runs differ than were made", data.name));
    if (!(data.poisoned <= data.runs))
      refuse(fmt::format("data/{}: more runs are poisoned than were made", data.name));
    faulty += data.faulty;
    undecided += data.undecided;
    runs += counts(data) ? data.runs : 0;
    poisoned += counts(data) ? data.poisoned : 0;
    seconds += counts(data) ? data.seconds : 0;
  }
  expect("faulty", faulty, "the sum of /burn/data");
  expect("undecided", undecided, "the sum of /burn/data");
  expect("runs", runs, "the sum of the data that count");
  expect("poisoned", poisoned, "the sum of the data that count");
  expect("seconds", seconds, "the sum of the data that count");
  const auto devices = static_cast<double>(burn.places.size());
  double runs_of_windows = 0, seconds_of_windows = 0;
  for (const Burn::Window& window : burn.windows) {
    runs_of_windows += window.runs * devices;
    seconds_of_windows += window.seconds;
  }
  // Windows that were cut are left out.
  if (!(runs_of_windows <= runs && seconds_of_windows <= seconds * (1 + 1e-9)))
    refuse(
        fmt::format("windows: {:.0f} runs in {:.6g} s, more than the data have ({:.0f} in "
                    "{:.6g} s)",
                    runs_of_windows, seconds_of_windows, runs, seconds));
  expect("device_hours", burn.seconds * devices / 3600, "seconds x places / 3600");
  if (burn.device_hours > 0) {
    expect("faults_per_device_hour", faulty / burn.device_hours, "faulty / device_hours");
    expect("limit_per_device_hour", compute_poisson_limit(faulty, burn.device_hours),
           "the Poisson limit of faulty in device_hours");
  }
  const std::string status = row.at("status");
  const BurnVerdict verdict = judge(burn);
  if (status == "ok" && (verdict.wrong || verdict.unsupported))
    throw InputError(
        fmt::format("{}/status: found \"ok\", expected \"{}\" (/burn has {:.0f} wrong "
                    "runs, {:.0f} undecided ones, of {:.0f}). The file was changed by hand.",
                    where, verdict.wrong ? "incorrect" : "unsupported", burn.faulty, burn.undecided,
                    burn.runs));
}

}  // namespace assay
