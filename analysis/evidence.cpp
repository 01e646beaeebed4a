#include "analysis/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/measure/device_watch.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

/// A device over all rows that tell of it.
struct DeviceRecord {
  std::string host, device;
  std::map<std::string, double> errors{}, corrected{}, meanwhile{};  ///< the largest of the rows
  std::map<std::string, Interval> values{};                          ///< least and greatest
  double throttled = 0;  ///< largest part of a row's time
};

void take_largest(std::map<std::string, double>& largest,
                  const std::map<std::string, double>& counters) {
  for (const auto& [name, count] : counters) largest[name] = std::max(largest[name], count);
}

double sum_of(const std::map<std::string, double>& counters) {
  double sum = 0;
  for (const auto& [name, count] : counters) sum += count;
  return sum;
}

void add_device(DeviceRecord& record, const RowDeviceHealth& health) {
  take_largest(record.errors, health.errors);
  take_largest(record.corrected, health.corrected);
  for (const auto& [name, count] : health.corrected_meanwhile) record.meanwhile[name] += count;
  for (const auto& [name, value] : health.values) {
    Interval& range = record.values.try_emplace(name, Interval{value, value}).first->second;
    range = {std::min(range.low, value), std::max(range.high, value)};
  }
}

/// "3: ecc uncorrected dram 2, xid 79 1"; "0" where all counters are 0, "-" where there is none.
Cell counters_cell(const std::map<std::string, double>& counters) {
  if (counters.empty()) return "-";
  std::vector<std::string> parts;
  for (const auto& [name, count] : counters)
    if (count > 0) parts.push_back(fmt::format("{} {:g}", name, count));
  const double sum = sum_of(counters);
  return {fmt::format("{:g}{}{}", sum, parts.empty() ? "" : ": ", join(parts, ", ")), sum};
}

std::string states_text(const std::map<std::string, Interval>& values) {
  std::vector<std::string> parts;
  for (const auto& [name, range] : values)
    parts.push_back(range.low == range.high
                        ? fmt::format("{} {:.6g}", name, range.low)
                        : fmt::format("{} {:.6g} to {:.6g}", name, range.low, range.high));
  return join(parts, ", ");
}

std::vector<DeviceRecord> device_records(const std::vector<NamedResult>& results,
                                         const std::vector<Series>& all) {
  std::map<std::pair<std::string, std::string>, DeviceRecord> devices;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      for (const RowDeviceHealth& health : row.device_health) {
        const std::string own = results[series.result].environment(row).host;
        const std::string& host = health.host.empty() ? own : health.host;
        DeviceRecord& record = devices[{host, health.device}];
        record.host = host;
        record.device = health.device;
        add_device(record, health);
        // The state is that of the row's own device.
        if (row.device_state && row.device_state->throttled_s && row.device_health.size() == 1)
          record.throttled =
              std::max(record.throttled,
                       throttled_part(row.device_state->seconds, *row.device_state->throttled_s));
      }
  std::vector<DeviceRecord> records;
  for (auto& [key, record] : devices) records.push_back(std::move(record));
  std::ranges::stable_sort(records, std::greater(), [](const DeviceRecord& record) {
    return std::pair(sum_of(record.errors), sum_of(record.meanwhile));
  });
  return records;
}

}  // namespace

Table device_table(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  const std::vector<DeviceRecord> records = device_records(results, all);
  Table table{{}, std::vector<Line>(records.size())};
  const auto add = [&](Column column, const auto& cell) {
    table.add(std::move(column), [&](std::size_t i) -> Cell { return cell(records[i]); });
  };
  const auto any = [&](const auto& has) { return std::ranges::any_of(records, has); };
  add({"Host"}, [](const DeviceRecord& of) { return Cell(of.host); });
  add({"Device"}, [](const DeviceRecord& of) { return Cell(of.device); });
  add({"Errors"}, [](const DeviceRecord& of) { return counters_cell(of.errors); });
  add({"Corrected"}, [](const DeviceRecord& of) { return counters_cell(of.corrected); });
  if (any([](const DeviceRecord& of) { return sum_of(of.meanwhile) > 0; }))
    add({"Corrected in rows"}, [](const DeviceRecord& of) { return counters_cell(of.meanwhile); });
  if (any([](const DeviceRecord& of) { return of.throttled > 0; }))
    add({"Throttled", true},
        [](const DeviceRecord& of) { return Cell(human_percent(of.throttled), of.throttled); });
  if (any([](const DeviceRecord& of) { return !of.values.empty(); }))
    add({"Links and states"}, [](const DeviceRecord& of) { return Cell(states_text(of.values)); });
  return table;
}

Table bisection_table(const std::vector<Series>& all) {
  constexpr const char* begins = "slow_link_";
  Table table{titled({"Row", ">Ranks", ">Slow links", "Which"}), {}};
  for (const Series& series : all) {
    std::optional<double> count;
    std::map<std::string, double> slow;  // the links of all launches, with their largest ratios
    for (const Row& row : series.rows)
      for (const auto& [name, metric] : row.metrics) {
        if (!metric.value) continue;
        if (name == "slow_links") count = std::max(count.value_or(0), *metric.value);
        if (!name.starts_with(begins)) continue;
        double& ratio = slow[name.substr(std::string(begins).size())];
        ratio = std::max(ratio, *metric.value);
      }
    if (series.status != "ok" || !count) continue;
    count = std::max(*count, static_cast<double>(slow.size()));
    std::vector<std::string> named;
    for (const auto& [link, ratio] : slow)
      named.push_back(fmt::format("{} takes {:.3g} times as long", link, ratio));
    Line& line = table.lines.emplace_back();
    line.add(series.first().id);
    const double ranks = parameter_number(series, "ranks");
    line.add({fmt::format("{:g}", ranks), ranks});
    line.add({fmt::format("{:g}", *count), *count});
    line.add(named.empty() ? "none" : join(named, ", "));
  }
  return table;
}

namespace {

/// The main rate of a row of assay-io.
Cell io_rate(const Series& series) {
  for (const char* name : {"files_per_s", "reads_per_s", "bytes_per_s"})
    if (const auto rate = rate_of(series, name))
      return {human_rate(name, *rate) + mark_of(series), *rate};
  return "-";
}

/// A metric that is a part, as percent: the least of the launches.
Cell part_cell(const Series& series, const std::string& name) {
  std::optional<double> least;
  for (const Row& row : series.rows) {
    const auto metric = row.metrics.find(name);
    if (metric != row.metrics.end() && metric->second.value)
      least = std::min(least.value_or(*metric->second.value), *metric->second.value);
  }
  if (!least) return "-";
  return {human_percent(*least), *least};
}

/// The metrics of single operations: "create 12.3 kfiles/s, half below 1.2 ms, 99 % below 3 ms".
std::string operations_text(const Row& row) {
  std::map<std::string, std::vector<std::string>> parts;  // by operation
  const auto add = [&](const std::string& name, const std::string& end, const std::string& text) {
    if (name.ends_with(end)) parts[name.substr(0, name.size() - end.size())].push_back(text);
  };
  for (const auto& [name, metric] : row.metrics) {
    if (!metric.value) continue;
    add(name, "_per_s", human(*metric.value, "/s"));
    add(name, "_p50_s", "half within " + human_seconds(*metric.value));
    add(name, "_p99_s", "99 % within " + human_seconds(*metric.value));
  }
  std::vector<std::string> texts;
  for (const auto& [operation, numbers] : parts)
    texts.push_back(operation + " " + join(numbers, ", "));
  return join(texts, "; ");
}

}  // namespace

Table storage_table(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::vector<const Series*> rows;
  for (const Series& series : all)
    if (series.first().benchmark == "io" && has_time(series)) rows.push_back(&series);
  Table table{{}, std::vector<Line>(rows.size())};
  const auto add = [&](Column column, const auto& cell) {
    table.add(std::move(column), [&](std::size_t i) -> Cell { return cell(*rows[i]); });
  };
  add({"Operation"}, [](const Series& of) { return Cell(of.parameter("operation")); });
  add({"Problem"}, [](const Series& of) { return Cell(of.problem()); });
  add({"Host"},
      [&](const Series& of) { return Cell(results[of.result].environment(of.first()).host); });
  add({"Ranks", true},
      [](const Series& of) { return Cell(of.parameter("ranks"), parameter_number(of, "ranks")); });
  add({"Time", true},
      [](const Series& of) { return Cell(human_seconds(of.median) + mark_of(of), of.median); });
  add({"Rate", true}, io_rate);
  add({"Moved by storage", true}, [](const Series& of) { return part_cell(of, "storage_ratio"); });
  add({"By the device", true}, [](const Series& of) { return part_cell(of, "device_ratio"); });
  add({"Single operations"}, [](const Series& of) { return Cell(operations_text(of.first())); });
  return table;
}

}  // namespace assay
