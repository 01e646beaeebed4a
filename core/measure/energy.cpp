#include "core/measure/energy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "core/measure/agreement.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// The counters are late by up to one update at the beginning and at the end of an interval. Work
/// before and after uses at most the power of the runs, so the error is at most the energy of one
/// update: 5 % of 20 updates.
constexpr double updates_of_interval = 20;
/// Runs must fill this part of an interval, because energy used between runs is counted as theirs.
constexpr double least_filled = 0.95;

/// The host and the names of the domains. Ranks of a host that share a meter have the same key.
std::string make_key(const Communicator& ranks, const EnergyMeter& meter) {
  std::string key = ranks.host();
  for (const EnergyDomain& domain : meter.domains()) key += "\n" + domain.name;
  return key;
}

}  // namespace

template <class Step>
void EnergyCount::attempt(const Step& step) noexcept {
  try {
    step();
  } catch (const std::exception& error) {
    reason_ = error.what();
  } catch (...) {
    reason_ = "unknown exception";
  }
}

EnergyCount::EnergyCount(Workload& workload, Communicator& ranks) : ranks_(ranks) {
  const Result<EnergyMeter*> meter = workload.energy_meter();
  std::string key;
  if (const auto* const refusal = std::get_if<Unsupported>(&meter))
    reason_ = refusal->reason;
  else
    key = make_key(ranks, *std::get<EnergyMeter*>(meter));
  const std::vector<std::string> keys = ranks.allgather(key);
  const auto first = std::find(keys.begin(), keys.end(), key) - keys.begin();
  if (key.empty() || first != ranks.rank()) return;
  meter_ = std::get<EnergyMeter*>(meter);
  joules_.assign(meter_->domains().size(), 0);
  attempt([&] { update_s_ = meter_->update_s(); });
}

bool EnergyCount::resolves(double seconds) const {
  return reads() && seconds >= updates_of_interval * update_s_;
}

double EnergyCount::missing_s() const {
  return reads() && runs_ == 0 ? updates_of_interval * update_s_ : 0;
}

void EnergyCount::begin() noexcept {
  if (!reads()) return;
  attempt([&] { before_ = meter_->read(); });
  start_ = Clock::now();
}

void EnergyCount::end(double runs, double seconds) noexcept {
  if (!reads() || runs == 0) return;
  const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!resolves(passed)) return;
  attempt([&] {
    const std::vector<double> after = meter_->read();
    std::vector<double> sums = joules_;
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += joules_between(meter_->domains()[i], before_[i], after[i], passed);
    joules_ = sums;
    runs_ += runs;
    seconds_ += seconds;
    passed_ += passed;
  });
}

std::string EnergyCount::why_not() const {
  if (!reads()) return reason_;
  // The text has no numbers of this row, so that the rows of a table share one footnote.
  if (runs_ == 0)
    return fmt::format(
        "less than {:.1g} s of runs followed each other ({:.0f} updates of the energy counters). "
        "Take more samples (--min-samples, --max-time)",
        updates_of_interval * update_s_, updates_of_interval);
  for (std::size_t i = 0; i < joules_.size(); ++i)
    if (!(joules_[i] > 0))
      return fmt::format("the energy counter of {} does not move", meter_->domains()[i].name);
  if (seconds_ < least_filled * passed_)
    return fmt::format(
        "what is done between the runs (such as refilling tensors) takes more than {:.0f} % of the "
        "time between two readings of the energy counters",
        100 * (1 - least_filled));
  return "";
}

Energy EnergyCount::compute() {
  json mine = {{"host", ranks_.host()}, {"reason", why_not()}, {"joules", json::object()}};
  if (meter_ != nullptr && runs_ > 0)
    for (std::size_t i = 0; i < joules_.size(); ++i)
      mine["joules"][meter_->domains()[i].name] = joules_[i] / runs_;
  Energy all;
  std::map<std::string, std::set<std::string>> domains;  // by host
  for (const json& said : allgather_json(mine, ranks_)) {
    const std::string host = said.at("host"), reason = said.at("reason");
    if (!reason.empty())
      return {{}, ranks_.nodes() > 1 ? fmt::format("on {}: {}", host, reason) : reason};
    for (const auto& [name, joules] : said.at("joules").items()) {
      all.joules[name] += joules.get<double>();
      domains[host].insert(name);
    }
  }
  // A sum would mean nothing if some hosts measured a component that others do not.
  for (const auto& [host, its] : domains)
    if (its != domains.begin()->second)
      return {{},
              fmt::format("{} has other energy counters than {}", host, domains.begin()->first)};
  return all;
}

}  // namespace assay
