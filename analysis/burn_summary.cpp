#include "analysis/burn_summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

namespace {

constexpr std::size_t most_faults = 8;  ///< faults that a table lists for a case

std::string moment(double unix_s) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

std::string describe_burn_fault(const BurnFault& fault) {
  std::string text = fmt::format("{} on {}", moment(fault.unix_s), fault.host);
  if (!fault.processors.empty()) text += ", processor " + fault.processors;
  if (fault.rank > 0) text += fmt::format(", rank {}", fault.rank);
  text += fmt::format(", {} data", fault.data);
  if (!fault.place.empty())
    text += fmt::format(": {} is {}, expected {}, bits {} differ ({})", fault.place, fault.actual,
                        fault.expected, fault.differing_bits,
                        format_count(static_cast<std::size_t>(fault.elements), "element"));
  if (fault.temperature_celsius) text += fmt::format("; {:.0f} °C", *fault.temperature_celsius);
  if (fault.clock_hz) text += fmt::format("; {:.2f} GHz", *fault.clock_hz / 1e9);
  return text + (fault.remark.empty() ? "" : "; " + fault.remark);
}

std::string format_drift(const Drift& drift) {
  if (!drift) return "";
  const auto percent = [](double ratio) { return fmt::format("{:+.1f}", 100 * (ratio - 1)); };
  return fmt::format("{} % ({} to {})", percent(drift->ratio), percent(drift->interval->low),
                     percent(drift->interval->high));
}

/// The windows of several devices together, each over the median of its device.
std::vector<DriftPoint> compute_course(
    const std::map<std::string, std::vector<Burn::Window>>& windows) {
  constexpr std::size_t most = 40;
  std::vector<std::pair<double, double>> all;  // when, and the ratio
  for (const auto& [device, own] : windows) {
    std::vector<double> times;
    for (const Burn::Window& window : own) times.push_back(window.seconds / window.runs);
    const double middle = times.empty() ? 0 : median(times);
    for (std::size_t i = 0; i < own.size() && middle > 0; ++i)
      all.emplace_back(own[i].unix_s, times[i] / middle);
  }
  std::ranges::sort(all);
  std::vector<DriftPoint> course;
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> moments, ratios;
    for (std::size_t j = i * all.size() / count; j < (i + 1) * all.size() / count; ++j) {
      moments.push_back((all[j].first - all.front().first) / 60);
      ratios.push_back(all[j].second);
    }
    course.push_back({median(moments), median(ratios)});
  }
  return course;
}

}  // namespace

double BurnTotal::limit_per_device_hour() const {
  return compute_poisson_limit(faulty, device_hours);
}

void BurnTotals::add(const Row& row, const std::string& host) {
  Series& series = series_[{host, row.id}];
  BurnTotal& total = series.total;
  total.host = host;
  total.id = row.id;
  ++total.rows;
  if (!row.is_ok()) total.problems.push_back(row.status + ": " + row.reason);
  if (!row.burn) return;
  const Burn& burn = *row.burn;
  total.runs += burn.runs;
  total.poisoned += burn.poisoned;
  total.faulty += burn.faulty;
  total.undecided += burn.undecided;
  total.device_hours += burn.device_hours;
  total.seconds += burn.seconds;
  total.check_s += burn.check_s;
  total.faults.insert(total.faults.end(), burn.faults.begin(), burn.faults.end());
  std::vector<Burn::Window>& windows = series.windows[join(burn.places, "; ")];
  windows.insert(windows.end(), burn.windows.begin(), burn.windows.end());
}

std::vector<BurnTotal> BurnTotals::take() {
  std::vector<BurnTotal> totals;
  for (auto& [key, series] : series_) {
    series.total.drift = compute_drift(series.windows);
    series.total.course = compute_course(series.windows);
    std::set<std::string> devices;
    for (const auto& [places, windows] : series.windows)
      for (const std::string& place : split(places, ';')) devices.insert(place);
    series.total.devices = devices.size();
    std::ranges::stable_sort(series.total.faults, {}, &BurnFault::unix_s);
    totals.push_back(std::move(series.total));
  }
  series_.clear();
  return totals;
}

Drift compute_drift(const std::map<std::string, std::vector<Burn::Window>>& windows) {
  std::vector<double> first, second;
  for (auto [device, all] : windows) {
    std::ranges::stable_sort(all, {}, &Burn::Window::unix_s);
    std::vector<double> times;
    for (const Burn::Window& window : all) times.push_back(window.seconds / window.runs);
    if (times.size() < 4) continue;
    const double middle = median(times);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const bool is_first = i < times.size() / 2, is_middle = i == times.size() / 2;
      if (is_middle && times.size() % 2 == 1) continue;
      (is_first ? first : second).push_back(times[i] / middle);
    }
  }
  if (first.empty()) return std::nullopt;
  const LaunchComparison halves = compare_launches(first, second);
  return halves.interval ? Drift(halves) : std::nullopt;
}

std::string summarize_burn(const BurnTotal& total) {
  std::string text = fmt::format(
      "{:.0f} wrong of {:.0f} runs in {:.3g} device-hours, below {:.3g} an hour "
      "(95 %)",
      total.faulty, total.runs, total.device_hours, total.limit_per_device_hour());
  if (total.undecided > 0) text += fmt::format(", {:.0f} undecided", total.undecided);
  if (total.drift) text += ", drift " + format_drift(total.drift);
  return text;
}

Table burn_lines(const std::vector<BurnTotal>& totals) {
  Table table{make_columns({"host", "case", ">devices|3", ">runs", ">poisoned|4", ">wrong",
                            ">device-hours|2", ">below (1/h, 95 %)", ">drift|1", ">checks|5"}),
              {}};
  for (const BurnTotal& total : totals) {
    Line& line = table.lines.emplace_back();
    line.add(total.host);
    line.add(total.id);
    if (total.runs == 0) {
      line.note = total.problems.empty() ? "no burn-in" : total.problems.front();
      continue;
    }
    const double devices = static_cast<double>(total.devices),
                 checks = total.check_s / total.seconds;
    line.add({std::to_string(total.devices), devices});
    line.add({fmt::format("{:.0f}", total.runs), total.runs});
    line.add({fmt::format("{:.0f}", total.poisoned), total.poisoned});
    line.add({total.undecided > 0
                  ? fmt::format("{:.0f}, undecided {:.0f}", total.faulty, total.undecided)
                  : fmt::format("{:.0f}", total.faulty),
              total.faulty});
    line.add({fmt::format("{:.3g}", total.device_hours), total.device_hours});
    line.add({fmt::format("{:.3g}", total.limit_per_device_hour()), total.limit_per_device_hour()});
    line.add({format_drift(total.drift),
              total.drift ? std::optional(total.drift->ratio - 1) : std::nullopt});
    line.add({fmt::format("{:.1f} %", 100 * checks), checks});
  }
  return table;
}

std::vector<std::string> burn_faults(const std::vector<BurnTotal>& totals) {
  std::vector<std::string> faults;
  for (const BurnTotal& total : totals) {
    for (std::size_t i = 0; i < std::min(most_faults, total.faults.size()); ++i)
      faults.push_back(fmt::format("{}: {}", total.id, describe_burn_fault(total.faults[i])));
    if (total.runs > 0 && total.faults.empty() && !total.problems.empty())
      faults.push_back(fmt::format("{} on {}: {}", total.id, total.host, total.problems.front()));
  }
  return faults;
}

std::string render_burn_table(const std::vector<BurnTotal>& totals) {
  const Table table = burn_lines(totals);
  std::string text = render_terminal_table(table), gap = "\n";
  for (const std::string& fault : burn_faults(totals))
    text += std::exchange(gap, "") + visible(fault) + "\n";
  return text;
}

}  // namespace assay
