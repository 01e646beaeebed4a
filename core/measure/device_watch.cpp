#include "core/measure/device_watch.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tuple>

#include "core/measure/agreement.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// A rising clock moves in steps, so two readings may agree by chance.
constexpr std::size_t readings = 3;
constexpr double agreement = 0.01;
// A counter of throttled time is late by up to one update. If it counted more than the time that
// passed, its unit is not the documented one, and it is not reported.
constexpr double longest_update = 0.1, longest_count = 1.05;
// Limits of the board's power and cooling, by their names in DeviceState::throttled_s.
constexpr const char* limits[] = {"power", "heat", "hardware heat", "power brake"};

json state_json(const DeviceState& state) {
  json all = json::object();
  const auto put = [&](const char* name, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) all[name] = *value;
  };
  put("clock_hz", state.clock_hz);
  put("memory_clock_hz", state.memory_clock_hz);
  put("temperature_celsius", state.temperature_celsius);
  put("power_w", state.power_w);
  put("power_limit_w", state.power_limit_w);
  return all;
}

using Seconds = std::map<std::string, double>;

/// Seconds by reason, for counters that were read twice.
Seconds compute_throttled_between(const DeviceState& before, const DeviceState& after,
                                  double passed) {
  Seconds all;
  for (const auto& [reason, end] : after.throttled_s) {
    const auto begin = before.throttled_s.find(reason);
    if (begin == before.throttled_s.end()) continue;
    const double seconds = end - begin->second;
    if (seconds >= 0 && seconds <= longest_count * passed + longest_update) all[reason] = seconds;
  }
  return all;
}

/// The sums for the reasons that both have.
Seconds add_seconds(const Seconds& a, const Seconds& b) {
  Seconds all;
  for (const auto& [reason, seconds] : a)
    if (const auto other = b.find(reason); other != b.end()) all[reason] = seconds + other->second;
  return all;
}

double clock_after(const json& state) { return state.at("after").value("clock_hz", HUGE_VAL); }

}  // namespace

std::optional<DeviceState> DeviceWatch::read() const noexcept {
  try {
    return workload_.device_state();
  } catch (...) {
    return std::nullopt;
  }
}

std::optional<bool> DeviceWatch::steady() const {
  if (clocks_.size() < readings) return std::nullopt;
  const auto [low, high] = std::minmax_element(clocks_.end() - readings, clocks_.end());
  return *high <= (1 + agreement) * *low;
}

bool DeviceWatch::swings() const {
  if (clocks_.size() < 2 * readings) return false;
  const auto last = clocks_.end() - readings;
  const auto [low, high] = std::minmax_element(last - readings, last);
  return std::all_of(last, clocks_.end(), [&](double clock) {
    return clock >= (1 - agreement) * *low && clock <= (1 + agreement) * *high;
  });
}

void DeviceWatch::await_steady(const std::function<bool()>& window) {
  clocks_.clear();
  for (bool more = true; more;) {
    const std::optional<DeviceState> state = read();
    const bool tells = state && state->clock_hz;
    if (tells) clocks_.push_back(*state->clock_hz);
    double wait = tells && !steady().value_or(false) && !swings() ? 1 : 0;
    ranks_.allreduce_max(std::span(&wait, 1));
    more = wait > 0 && window();
  }
}

void DeviceWatch::begin() noexcept {
  last_ = read();
  if (!before_) before_ = last_;
  begun_ = Clock::now();
}

void DeviceWatch::end() noexcept {
  const double passed = std::chrono::duration<double>(Clock::now() - begun_).count();
  after_ = read();
  seconds_ += passed;
  const Seconds throttled =
      last_ && after_ ? compute_throttled_between(*last_, *after_, passed) : Seconds{};
  throttled_s_ = throttled_s_ ? add_seconds(*throttled_s_, throttled) : throttled;
}

json DeviceWatch::summarize() const {
  json mine;
  if (before_ && after_) {
    mine = {{"before", state_json(*before_)},
            {"after", state_json(*after_)},
            {"seconds", seconds_},
            {"throttled_s", throttled_s_.value_or(Seconds{})}};
    if (const std::optional<bool> is_steady = steady()) mine["steady"] = *is_steady;
  }
  if (ranks_.size() == 1) return mine;
  json worst;
  bool unsteady = false;
  for (const json& state : allgather_json(mine, ranks_)) {
    if (state.is_null()) continue;
    unsteady = unsteady || !state.value("steady", true);
    const auto severity = [](const json& its) {
      return std::tuple(
          compute_throttled_part(its.at("seconds"), its.at("throttled_s").get<Seconds>()),
          -clock_after(its));
    };
    if (worst.is_null() || severity(state) > severity(worst)) worst = state;
  }
  if (unsteady) worst["steady"] = false;
  return worst;
}

double compute_throttled_part(double seconds, const std::map<std::string, double>& throttled_s) {
  double most = 0;
  for (const char* limit : limits)
    if (const auto its = throttled_s.find(limit); its != throttled_s.end() && seconds > 0)
      most = std::max(most, its->second / seconds);
  return most;
}

}  // namespace assay
