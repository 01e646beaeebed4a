#include "analysis/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

constexpr double small_copy = 1 << 20;  ///< bytes up to which the latency of a copy counts

/// "numa2" is before "numa10".
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

Matrix matrix_of(const std::string& title, const Grid& grid) {
  std::set<std::string, ByNumber> from, to;
  for (const auto& [places, number] : grid.numbers) {
    from.insert(places.first);
    to.insert(places.second);
    if (!grid.symmetric) continue;
    from.insert(places.second);
    to.insert(places.first);
  }
  Matrix matrix{title, !grid.is_time(), {titled({grid.corner}), {}}};
  for (const std::string& name : to) matrix.table.columns.push_back({name, true});
  for (const std::string& name : from) {
    Line& line = matrix.table.lines.emplace_back();
    line.add(name);
    for (const std::string& other : to) {
      auto found = grid.numbers.find({name, other});
      if (found == grid.numbers.end() && grid.symmetric) found = grid.numbers.find({other, name});
      if (found == grid.numbers.end()) {
        line.add(grid.symmetric && name == other ? "" : "-");
        continue;
      }
      const auto& [value, mark] = found->second;
      line.add({(grid.is_time() ? human_seconds(value) : human(value, grid.unit)) + mark, value});
    }
  }
  return matrix;
}

/// "64 MiB".
std::string size_text(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", bytes, unit);
}

/// The settings of copies that are not the same in all of them.
std::map<const Series*, std::string> kinds_of_copies(const std::vector<const Series*>& copies) {
  const auto settings = [](const Series& copy) {
    return split(parameters_but(copy, {"from", "to", "threads", "problem", "device", "backend"}),
                 ' ');
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

void add_copies(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                Grids& grids) {
  std::vector<const Series*> copies;
  for (const Series& series : all)
    if (series.first().benchmark == "copy" && has_time(series)) copies.push_back(&series);
  std::set<std::string> hosts;
  const auto host_of = [&](const Series& series) {
    return results[series.result].environment(series.first()).host;
  };
  for (const Series* copy : copies) hosts.insert(host_of(*copy));
  const std::map<const Series*, std::string> kinds = kinds_of_copies(copies);
  for (const Series* copy : copies) {
    const double bytes = problem_number(*copy, "buffer_bytes").value_or(0);
    const auto kind = kinds.find(copy);
    const std::string title =
        fmt::format("copies of {}{}{}", size_text(bytes), kind == kinds.end() ? "" : kind->second,
                    hosts.size() > 1 ? " on " + host_of(*copy) : "");
    const auto add = [&](const std::string& what, const std::string& unit, double value) {
      Grid& grid = grids[what + " of " + title];
      grid.unit = unit;
      grid.corner = "from \\ to";
      grid.add(copy->parameter("from"), copy->parameter("to"), value, mark_of(*copy));
    };
    if (const auto bandwidth = rate_of(*copy, "copy_bw")) add("bandwidth", "B/s", *bandwidth);
    if (bytes <= small_copy) add("time", "s", copy->median);
  }
}

void add_pairs_of_nodes(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        Grids& grids) {
  for (const Series& series : all) {
    if (!has_time(series) || parameter_number(series, "nodes") != 2) continue;
    const auto& ranks = results[series.result].environment(series.first()).rank_hosts;
    const std::set<std::string> hosts(ranks.begin(), ranks.end());
    if (hosts.size() != 2) continue;
    const auto bandwidth = rate_of(series, "busbw");
    Grid& grid = grids[fmt::format("{} of pairs of nodes: {}", bandwidth ? "bus bandwidth" : "time",
                                   series.first().id)];
    grid.unit = bandwidth ? "B/s" : "s";
    grid.corner = "node";
    grid.symmetric = true;
    grid.add(*hosts.begin(), *hosts.rbegin(), bandwidth.value_or(series.median), mark_of(series));
  }
}

}  // namespace

std::vector<Matrix> matrices_of(const std::vector<NamedResult>& results,
                                const std::vector<Series>& all) {
  Grids grids;
  add_copies(results, all, grids);
  add_pairs_of_nodes(results, all, grids);
  std::vector<Matrix> matrices;
  for (const auto& [title, grid] : grids)
    if (grid.numbers.size() > 1) matrices.push_back(matrix_of(title, grid));
  return matrices;
}

}  // namespace assay
