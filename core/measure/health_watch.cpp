#include "core/measure/health_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/measure/agreement.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Counters = std::map<std::string, double>;

/// Increases of the counters. A counter that decreased was set to 0 (a reset, an overflow). Its
/// increase is then unknown, and at least its new value, which is used.
Counters rises(const Counters& before, const Counters& after) {
  Counters all;
  for (const auto& [name, count] : after) {
    const auto old = before.find(name);
    const double begun = old == before.end() ? 0 : old->second;
    const double rise = count < begun ? count : count - begun;
    if (rise > 0) all[name] = rise;
  }
  return all;
}

}  // namespace

HealthWatch::HealthWatch(Workload& workload, Communicator& ranks)
    : workload_(workload), ranks_(ranks), before_(read()) {}

std::optional<DeviceHealth> HealthWatch::read() const {
  try {
    return workload_.device_health();
  } catch (const std::exception&) {
    return std::nullopt;  // it reports nothing
  }
}

std::string HealthWatch::end() {
  after_ = read();
  if (after_ && !after_->lost.empty())
    return fmt::format("{} was lost: {}", after_->device, after_->lost);
  if (!before_) return "";
  if (!after_) return before_->device + " does not tell its errors any more";
  std::vector<std::string> errors;
  for (const auto& [name, count] : before_->errors)
    if (!after_->errors.contains(name)) errors.push_back(name + " (no longer told)");
  for (const auto& [name, rise] : rises(before_->errors, after_->errors))
    errors.push_back(fmt::format("{} (+{})", name, rise));
  if (errors.empty()) return "";
  return fmt::format(
      "{} counted errors while this was measured: {}. Its results cannot be trusted: look at its "
      "log, and test it alone.",
      after_->device, fmt::join(errors, ", "));
}

json HealthWatch::summarize() const {
  json mine;
  if (before_ && after_)
    mine = {{"device", after_->device},
            {"values", after_->values},
            {"errors", after_->errors},
            {"corrected", after_->corrected},
            {"corrected_meanwhile", rises(before_->corrected, after_->corrected)}};
  json all = json::array();
  if (ranks_.size() == 1) {
    if (!mine.is_null()) all.push_back(std::move(mine));
    return all;
  }
  if (!mine.is_null()) mine["host"] = ranks_.host();
  std::set<std::pair<std::string, std::string>> known;  // ranks may share a device
  for (json& its : allgather_json(mine, ranks_)) {
    if (!its.is_null() && known.emplace(its.at("host"), its.at("device")).second)
      all.push_back(std::move(its));
  }
  return all;
}

}  // namespace assay
