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

std::string format_size(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", bytes, unit);
}

namespace {

/// A device in all rows that report it.
struct DeviceRecord {
  std::string host, device;
  std::map<std::string, double> errors{}, corrected{},
      meanwhile{};                           ///< the largest value of the rows
  std::map<std::string, Interval> values{};  ///< least and greatest
  double throttled = 0;                      ///< largest fraction of a row's time
};

void take_largest(std::map<std::string, double>& largest,
                  const std::map<std::string, double>& counters) {
  for (const auto& [name, count] : counters) largest[name] = std::max(largest[name], count);
}

double add_counters(const std::map<std::string, double>& counters) {
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
Cell format_counters_cell(const std::map<std::string, double>& counters) {
  if (counters.empty()) return "-";
  std::vector<std::string> parts;
  for (const auto& [name, count] : counters)
    if (count > 0) parts.push_back(fmt::format("{} {:g}", name, count));
  const double sum = add_counters(counters);
  return {fmt::format("{:g}{}{}", sum, parts.empty() ? "" : ": ", join(parts, ", ")), sum};
}

std::string describe_states(const std::map<std::string, Interval>& values) {
  std::vector<std::string> parts;
  for (const auto& [name, range] : values)
    parts.push_back(range.low == range.high
                        ? fmt::format("{} {:.6g}", name, range.low)
                        : fmt::format("{} {:.6g} to {:.6g}", name, range.low, range.high));
  return join(parts, ", ");
}

std::vector<DeviceRecord> device_records(const Results& results, const SeriesList& all) {
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
        // The state belongs to the row's own device.
        if (row.device_state && row.device_state->throttled_s && row.device_health.size() == 1)
          record.throttled = std::max(
              record.throttled,
              compute_throttled_part(row.device_state->seconds, *row.device_state->throttled_s));
      }
  std::vector<DeviceRecord> records;
  for (auto& [key, record] : devices) records.push_back(std::move(record));
  std::ranges::stable_sort(records, std::greater(), [](const DeviceRecord& record) {
    return std::pair(add_counters(record.errors), add_counters(record.meanwhile));
  });
  return records;
}

}  // namespace

Table make_device_table(const Results& results, const SeriesList& all) {
  const std::vector<DeviceRecord> records = device_records(results, all);
  Table table{{}, std::vector<Line>(records.size())};
  const auto add = [&](Column column, const auto& cell) {
    table.add(std::move(column), [&](std::size_t i) -> Cell { return cell(records[i]); });
  };
  const auto any = [&](const auto& has) { return std::ranges::any_of(records, has); };
  add({"Host"}, [](const DeviceRecord& record) { return Cell(record.host); });
  add({"Device"}, [](const DeviceRecord& record) { return Cell(record.device); });
  add({"Errors"}, [](const DeviceRecord& record) { return format_counters_cell(record.errors); });
  add({"Corrected"},
      [](const DeviceRecord& record) { return format_counters_cell(record.corrected); });
  if (any([](const DeviceRecord& record) { return add_counters(record.meanwhile) > 0; }))
    add({"Corrected in rows"},
        [](const DeviceRecord& record) { return format_counters_cell(record.meanwhile); });
  if (any([](const DeviceRecord& record) { return record.throttled > 0; }))
    add({"Throttled", true}, [](const DeviceRecord& record) {
      return Cell(format_percentage(record.throttled), record.throttled);
    });
  if (any([](const DeviceRecord& record) { return !record.values.empty(); }))
    add({"Links and states"},
        [](const DeviceRecord& record) { return Cell(describe_states(record.values)); });
  return table;
}

Table make_bisection_table(const SeriesList& all) {
  constexpr const char* begins = "slow_link_";
  Table table{make_columns({"Row", ">Ranks", ">Slow links", "Which"}), {}};
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
    if (const auto rate = find_rate(series, name))
      return {format_rate(name, *rate) + choose_mark(series), *rate};
  return "-";
}

/// A metric that is a fraction, in percent: the least of the launches.
Cell format_part_cell(const Series& series, const std::string& name) {
  std::optional<double> least;
  for (const Row& row : series.rows) {
    const auto metric = row.metrics.find(name);
    if (metric != row.metrics.end() && metric->second.value)
      least = std::min(least.value_or(*metric->second.value), *metric->second.value);
  }
  if (!least) return "-";
  return {format_percentage(*least), *least};
}

/// The metrics of single operations: "create 12.3 kfiles/s, half below 1.2 ms, 99 % below 3 ms".
std::string format_operations(const Row& row) {
  std::map<std::string, std::vector<std::string>> parts;  // by operation
  const auto add = [&](const std::string& name, const std::string& end, const std::string& text) {
    if (name.ends_with(end)) parts[name.substr(0, name.size() - end.size())].push_back(text);
  };
  for (const auto& [name, metric] : row.metrics) {
    if (!metric.value) continue;
    add(name, "_per_s", format_with_unit(*metric.value, "/s"));
    add(name, "_p50_s", "half within " + format_seconds(*metric.value));
    add(name, "_p99_s", "99 % within " + format_seconds(*metric.value));
  }
  std::vector<std::string> texts;
  for (const auto& [operation, numbers] : parts)
    texts.push_back(operation + " " + join(numbers, ", "));
  return join(texts, "; ");
}

}  // namespace

Table make_storage_table(const Results& results, const SeriesList& all) {
  std::vector<const Series*> rows;
  for (const Series& series : all)
    if (series.first().benchmark == "io" && has_time(series)) rows.push_back(&series);
  Table table{{}, std::vector<Line>(rows.size())};
  const auto add = [&](Column column, const auto& cell) {
    table.add(std::move(column), [&](std::size_t i) -> Cell { return cell(*rows[i]); });
  };
  add({"Operation"}, [](const Series& series) { return Cell(series.parameter("operation")); });
  add({"Problem"}, [](const Series& series) { return Cell(series.problem()); });
  add({"Host"}, [&](const Series& series) {
    return Cell(results[series.result].environment(series.first()).host);
  });
  add({"Ranks", true}, [](const Series& series) {
    return Cell(series.parameter("ranks"), parameter_number(series, "ranks"));
  });
  add({"Time", true}, [](const Series& series) {
    return Cell(format_seconds(series.median) + choose_mark(series), series.median);
  });
  add({"Rate", true}, io_rate);
  add({"Moved by storage", true},
      [](const Series& series) { return format_part_cell(series, "storage_ratio"); });
  add({"By the device", true},
      [](const Series& series) { return format_part_cell(series, "device_ratio"); });
  add({"Single operations"},
      [](const Series& series) { return Cell(format_operations(series.first())); });
  return table;
}

namespace {

constexpr double small_copy = 1 << 20;  ///< up to this size the latency of a copy is shown, too

/// Sorts "numa2" before "numa10".
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  }
};

struct Grid {
  std::string unit{};  ///< "s", or that of a rate
  std::string corner{};
  bool symmetric = false;
  std::map<std::pair<std::string, std::string>, std::pair<double, std::string>> numbers{};

  bool is_time() const { return unit == "s"; }
  void add(const std::string& from, const std::string& to, double value, const std::string& mark) {
    const auto [place, fresh] = numbers.try_emplace({from, to}, value, mark);
    const bool faster = is_time() ? value < place->second.first : value > place->second.first;
    if (!fresh && faster) place->second = {value, mark};
  }
};

using Grids = std::map<std::string, Grid>;  ///< by title

Matrix make_matrix(const std::string& title, const Grid& grid) {
  std::set<std::string, ByNumber> rows, columns;
  for (const auto& [places, number] : grid.numbers) {
    rows.insert(places.first);
    columns.insert(places.second);
    if (!grid.symmetric) continue;
    rows.insert(places.second);
    columns.insert(places.first);
  }
  Matrix matrix{title, !grid.is_time(), {make_columns({grid.corner}), {}}};
  for (const std::string& name : columns)
    matrix.table.columns.push_back(
        {name, true, "", static_cast<int>(matrix.table.columns.size()) - 1});
  for (const std::string& name : rows) {
    Line& line = matrix.table.lines.emplace_back();
    line.add(name);
    for (const std::string& other : columns) {
      auto entry = grid.numbers.find({name, other});
      if (entry == grid.numbers.end() && grid.symmetric) entry = grid.numbers.find({other, name});
      if (entry == grid.numbers.end()) {
        line.add(grid.symmetric && name == other ? "" : "-");
        continue;
      }
      const auto& [value, mark] = entry->second;
      line.add(
          {(grid.is_time() ? format_seconds(value) : format_with_unit(value, grid.unit)) + mark,
           value});
    }
  }
  return matrix;
}

/// The settings that differ between copies.
std::map<const Series*, std::string> kinds_of_copies(const std::vector<const Series*>& copies) {
  const auto settings = [](const Series& copy) {
    return split(
        list_parameters_but(copy, {"from", "to", "threads", "problem", "device", "backend"}), ' ');
  };
  std::map<std::string, std::size_t> counts;
  for (const Series* copy : copies)
    for (const std::string& setting : settings(*copy)) ++counts[setting];
  std::map<const Series*, std::string> kinds;
  for (const Series* copy : copies)
    for (const std::string& setting : settings(*copy))
      if (counts[setting] < copies.size()) kinds[copy] += ", " + setting;
  return kinds;
}

void add_copies(const Results& results, const SeriesList& all, Grids& grids) {
  std::vector<const Series*> copies;
  for (const Series& series : all)
    if (series.first().benchmark == "copy" && has_time(series)) copies.push_back(&series);
  std::set<std::string> hosts;
  const auto find_host = [&](const Series& series) {
    return results[series.result].environment(series.first()).host;
  };
  for (const Series* copy : copies) hosts.insert(find_host(*copy));
  const std::map<const Series*, std::string> kinds = kinds_of_copies(copies);
  for (const Series* copy : copies) {
    const double bytes = problem_number(*copy, "buffer_bytes").value_or(0);
    const auto kind = kinds.find(copy);
    const std::string title =
        fmt::format("copies of {}{}{}", format_size(bytes), kind == kinds.end() ? "" : kind->second,
                    hosts.size() > 1 ? " on " + find_host(*copy) : "");
    const auto add = [&](const std::string& what, const std::string& unit, double value) {
      Grid& grid = grids[what + " of " + title];
      grid.unit = unit;
      grid.corner = "from \\ to";
      grid.add(copy->parameter("from"), copy->parameter("to"), value, choose_mark(*copy));
    };
    if (const auto bandwidth = find_rate(*copy, "copy_bw")) add("bandwidth", "B/s", *bandwidth);
    if (bytes <= small_copy) add("time", "s", copy->median);
  }
}

void add_pairs_of_nodes(const Results& results, const SeriesList& all, Grids& grids) {
  for (const Series& series : all) {
    if (!has_time(series) || parameter_number(series, "nodes") != 2) continue;
    const auto& ranks = results[series.result].environment(series.first()).rank_hosts;
    const std::set<std::string> hosts(ranks.begin(), ranks.end());
    if (hosts.size() != 2) continue;
    const auto bandwidth = find_rate(series, "busbw");
    Grid& grid = grids[fmt::format("{} of pairs of nodes: {}", bandwidth ? "bus bandwidth" : "time",
                                   series.first().id)];
    grid.unit = bandwidth ? "B/s" : "s";
    grid.corner = "node";
    grid.symmetric = true;
    grid.add(*hosts.begin(), *hosts.rbegin(), bandwidth.value_or(series.median),
             choose_mark(series));
  }
}

}  // namespace

std::vector<Matrix> make_matrices(const Results& results, const SeriesList& all) {
  Grids grids;
  add_copies(results, all, grids);
  add_pairs_of_nodes(results, all, grids);
  std::vector<Matrix> matrices;
  for (const auto& [title, grid] : grids)
    if (grid.numbers.size() > 1) matrices.push_back(make_matrix(title, grid));
  return matrices;
}

}  // namespace assay
