#include "runner/ceilings/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/text_table.hpp"
#include "core/api/precision.hpp"
#include "core/base/json_fields.hpp"
#include "core/result/impossible.hpp"
#include "core/result/layers.hpp"
#include "core/result/marks.hpp"
#include "core/result/result_check.hpp"
#include "runner/ceilings/cache_levels.hpp"
#include "runner/ceilings/ceiling_place.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Why there is no ceiling.
struct NoCeiling {
  std::string reason;
};

/// The best rate that was seen, and the amount of work in its run.
struct Rate {
  double per_s = 0, amount = 0;
  bool judges = false;  ///< undisturbed, so that a row may be called impossible by it
  /// The rate for calling rows impossible. The rate that a library reached may be far below the
  /// peak of the device, so this rate is at least that of the data sheet; without a data sheet
  /// nothing is called impossible.
  double surely = 0;
};

/// The ranks of a row, and the size of its problem relative to that of one rank. All ranks measure
/// a ceiling at once, each with its own problem, so it is the ceiling of one rank beside the
/// others.
struct Ranks {
  double all = 1;
  double here = 1;     ///< ranks that share the memory and the caches of a row's levels
  double sharers = 1;  ///< ranks that compute the problem together: all, or 1
};

Ranks read_ranks(const Row& row) {
  Ranks ranks;
  ranks.all = row.number("ranks").value_or(1);
  if (ranks.all == 1) return ranks;
  if (ceiling_place(row).is_processor())
    ranks.here = std::ceil(ranks.all / row.number("nodes").value_or(1));
  if (!row.problem.shared_by) throw NoCeiling{"whether its ranks share the problem is not known"};
  ranks.sharers = *row.problem.shared_by;
  return ranks;
}

/// The measurements of some brackets that match the row: with its threads, or on its device, ranks
/// and nodes.
class Ceilings {
 public:
  /// `device`: its name; "" if there is none.
  Ceilings(const std::vector<Bracket>& brackets, const std::vector<std::size_t>& around,
           const Row& row, const std::string& device, const std::vector<CacheLevel>& levels,
           const Ranks& ranks)
      : place_(ceiling_place(row)), device_(device), levels_(levels), ranks_(ranks) {
    for (const std::size_t index : around)
      for (const Row& probe : brackets[index].rows)
        if (same_way(probe, row) && same_device(probe)) rows_.push_back(&probe);
  }

  bool none() const { return rows_.empty(); }
  const Ranks& ranks() const { return ranks_; }

  /// The peak of one rank.
  std::optional<Rate> peak(const std::string& precision, std::string& why) const {
    std::optional<Rate> peak = most(
        [&](const Row& row) {
          return kernel(row, place_.is_processor() ? "fma" : "matmul") &&
                 row.parameter("precision") == precision;
        },
        &RowProblem::flops, why);
    if (!peak || place_.is_processor()) return peak;
    const auto sheet = data_sheet_flops(device_, precision);
    peak->judges = peak->judges && sheet.has_value();
    peak->surely = std::max(peak->surely, sheet.value_or(0));
    return peak;
  }

  /// The bandwidth of one rank for data in a level: of reading or, in memory, of reading and
  /// writing.
  std::optional<Rate> bandwidth(std::size_t level, std::string& why) const {
    const auto measures = [&](const Row& row) {
      return (kernel(row, "read") || kernel(row, "triad") || kernel(row, "copy")) &&
             row.parameter("precision") == "fp64" && find_level(working_set(row), levels_) == level;
    };
    // In memory only the largest arrays that fitted count, because the cache holds a larger part of
    // smaller ones.
    double largest = 0;
    if (level == levels_.size())
      for (const Row* row : rows_)
        if (measures(*row) && row->is_ok()) largest = std::max(largest, working_set(*row));
    std::optional<Rate> rate =
        most([&](const Row& row) { return measures(row) && 2 * working_set(row) >= largest; },
             &RowProblem::bytes, why);
    // The data sheet, if there is one, is the lower limit.
    if (rate && level == levels_.size() && !place_.is_processor())
      rate->surely = std::max(rate->surely, data_sheet_bandwidth(device_).value_or(0));
    return rate;
  }

 private:
  bool same_way(const Row& probe, const Row& row) const {
    return ceiling_place(probe) == place_ &&
           (!place_.is_processor() || probe.parameter("threads") == row.parameter("threads")) &&
           probe.number("ranks").value_or(1) == row.number("ranks").value_or(1) &&
           probe.number("nodes").value_or(1) == row.number("nodes").value_or(1);
  }
  /// If a row was not measured, its reason counts for any device.
  bool same_device(const Row& probe) const {
    return place_.is_processor() || !probe.is_ok() ||
           (!device_.empty() && probe.rest.value("measured_on", json()) == device_);
  }
  /// The working set of the ranks that share the levels.
  double working_set(const Row& probe) const {
    return ranks_.here * probe.problem.bytes.value_or(0) / probe.problem.passes.value_or(1);
  }

  static bool kernel(const Row& row, const char* name) {
    return row.problem.descriptor.starts_with(name);
  }

  /// The largest rate. A bound is the best that was seen, so the best sample counts (as in STREAM
  /// itself), over all algorithms, before and after the row.
  template <class Which>
  std::optional<Rate> most(const Which& which, std::optional<double> RowProblem::*amount,
                           std::string& why) const {
    std::optional<Rate> most;
    for (const Row* row : rows_) {
      if (!which(*row)) continue;
      if (!row->is_ok()) {
        why = fmt::format("{}: {}", row->status, row->reason);
        continue;
      }
      const std::optional<double> done = row->problem.*amount, seconds = row->time_s->min;
      if (!done || !seconds || !(*seconds > 0)) continue;
      if (const double rate = *done / *seconds; !most || rate > most->per_s)
        most = Rate{rate, *done, choose_mark(*row).empty(), rate};
    }
    return most;
  }

  CeilingPlace place_;
  std::string device_;  ///< its name, if it has one
  std::vector<const Row*> rows_;
  const std::vector<CacheLevel>& levels_;
  Ranks ranks_;
};

/// The operations of one rank that the row's algorithm executed. For a shared problem this is the
/// average, because the rank with most operations takes no less time.
double operations(const Row& row, const Ranks& ranks) {
  if (const auto done = count_operations_done(row)) return *done / ranks.sharers;
  throw NoCeiling{fmt::format("how many operations {} did is not known", row.execution->algorithm)};
}

/// A bound by data movement: `bytes` from a level, for all ranks that share it.
struct Roof {
  std::string level;
  double bytes = 0, bytes_per_s = 0;
  bool judges = false;
  double surely = 0;  ///< as in Rate
  double seconds() const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
};

/// The data that a run moves repeatedly.
struct Traffic {
  double each = 0, passes = 1;
};

/// The traffic of all ranks that share the levels. The number of passes of an analysis over its
/// table may be known only after the run.
Traffic compute_traffic(const Row& row, const Ranks& ranks) {
  const double share = ranks.here / ranks.sharers;
  const json passes = row.execution ? row.execution->rest.value("passes", json()) : json();
  if (const auto size = row.problem.number("size"); size && passes.is_number())
    return {share * *size, passes};
  if (!row.problem.bytes) return {};
  const double times = row.problem.passes.value_or(1);
  return {share * *row.problem.bytes / times, times};
}

/// The highest of the roofs of a row. If it is cold, all of its data come from memory. If it is
/// hot, they come from the levels that can hold them, and each pass moves only what the inner
/// levels cannot hold.
Roof find_roof(const Row& row, const Ceilings& ceilings, const std::vector<CacheLevel>& levels) {
  const Ranks& ranks = ceilings.ranks();
  const auto [bytes, passes] = compute_traffic(row, ranks);
  if (!(bytes * passes > 0)) return {};
  const bool cold = row.parameter("cache") == "cold";
  const bool on_device = !ceiling_place(row).is_processor();
  if (levels.empty() && !cold) throw NoCeiling{"the sizes of the caches are unknown"};
  Roof highest;
  for (const std::size_t level :
       cold ? std::vector{levels.size()} : bounding_levels(bytes, levels)) {
    std::string why = "it was not measured";
    const auto bandwidth = ceilings.bandwidth(level, why);
    Roof roof{level_name(level, levels),
              passes * (cold ? bytes : bytes_from(level, bytes, levels))};
    if (!bandwidth) throw NoCeiling{fmt::format("no bandwidth of {} ({})", roof.level, why)};
    roof.bytes_per_s = ranks.here * bandwidth->per_s;
    roof.judges = bandwidth->judges;
    roof.surely = ranks.here * bandwidth->surely;
    // A run of the probe is short compared with the launch of a kernel, which the row includes,
    // too. So a row that moves at least as many bytes as the probe takes at least as long; but the
    // additional bytes may be moved at a higher rate, so they do not count.
    if (on_device && level < levels.size()) roof.bytes = std::min(roof.bytes, bandwidth->amount);
    if (roof.seconds() > highest.seconds()) highest = roof;
  }
  return highest;
}

/// The peak of a row, and the precision in which it was measured.
struct Peak {
  Rate rate;
  std::string precision;
};

Peak find_peak(const Row& row, const Ceilings& ceilings) {
  std::string precision = arithmetic_name(row.parameter("precision"));
  std::string why = "it was not measured";
  std::optional<Rate> peak = ceilings.peak(precision, why);
  // A processor may compute 16-bit data in fp32; the row then reports it.
  if (row.execution && row.execution->compute == "fp32" && precision != "fp32" &&
      precision != "fp64") {
    std::string ignored;
    const auto other = ceilings.peak("fp32", ignored);
    if (other && (!peak || other->per_s > peak->per_s)) {
      peak = other;
      precision = "fp32";
    }
  }
  if (!peak) throw NoCeiling{fmt::format("no peak of {} ({})", precision, why)};
  return {*peak, precision};
}

/// The least time from the bounds that may call the row impossible (Rate::judges). Each bound is
/// computed separately, so that one still counts if the other is unknown.
LeastTime surely_least(const Row& row, const Ceilings& ceilings,
                       const std::vector<CacheLevel>& levels) {
  LeastTime least;
  const auto consider = [&](const auto& bound) {
    try {
      const auto [judges, time] = bound();
      if (judges && time.seconds > least.seconds) least = time;
    } catch (const NoCeiling&) {
    }
  };
  consider([&] {
    const double work = operations(row, ceilings.ranks());
    if (!(work > 0)) return std::pair(false, LeastTime{});
    const Rate peak = find_peak(row, ceilings).rate;
    return std::pair(peak.judges, LeastTime{work / peak.surely, "compute"});
  });
  consider([&] {
    const Roof roof = find_roof(row, ceilings, levels);
    return std::pair(roof.judges,
                     LeastTime{roof.surely > 0 ? roof.bytes / roof.surely : 0, roof.level});
  });
  return least;
}

/// The reason why the time of a row cannot be the time of its work.
struct Impossible {
  std::string reason;
};

RowCeiling make_ceiling(const Row& row, const std::vector<Bracket>& brackets,
                        const std::vector<std::size_t>& around,
                        const ResultEnvironment& environment) {
  if (row.benchmark == "stream") throw NoCeiling{"stream measures ceilings itself"};
  const CeilingPlace place = ceiling_place(row);
  if (place.backend.empty()) throw NoCeiling{"a transport's ceilings are not measured"};
  RowCeiling ceiling;
  for (const std::size_t index : around)
    if (brackets[index].reason.empty()) ceiling.brackets.push_back(static_cast<int>(index));
  if (ceiling.brackets.empty()) throw NoCeiling{brackets[around.front()].reason};
  const std::vector<std::size_t> good(ceiling.brackets.begin(), ceiling.brackets.end());
  const Ranks ranks = read_ranks(row);
  const auto threads = static_cast<int>(row.number("threads").value_or(1));
  const json software = backend_software(place, environment);
  const std::vector<CacheLevel> levels =
      place.is_processor()
          ? cache_levels(environment.hardware, threads * static_cast<int>(ranks.here))
          : device_levels(software);
  const std::string device = device_name(software);
  const Ceilings ceilings(brackets, good, row, device, levels, ranks);
  const auto count_of_row = [&row](const char* name, const char* what) {
    return format_count(static_cast<std::size_t>(row.number(name).value_or(1)), what);
  };
  if (ceilings.none())
    throw NoCeiling{fmt::format(
        "no ceiling was measured {} in {}{} on {}",
        place.is_processor()
            ? fmt::format("with {} threads",
                          row.number("threads") ? std::to_string(threads) : "an unknown number of")
            : fmt::format("by {} on this {} ({})", place.backend, place.device,
                          device.empty() ? "which has no name" : device),
        row.number("ranks").value_or(1) > 1 ? "each of " : "", count_of_row("ranks", "rank"),
        count_of_row("nodes", "node"))};

  const double median = row.median();
  if (const auto why = why_impossible(median, surely_least(row, ceilings, levels));
      why && (!place.is_processor() || is_bounded(row)))
    throw Impossible{*why};
  if (!(median > 0)) throw NoCeiling{"the time is below the clock's resolution"};
  const double work = operations(row, ranks);
  double compute_s = 0;
  if (work > 0) {
    const Peak peak = find_peak(row, ceilings);
    ceiling.flops_per_s = ranks.sharers * peak.rate.per_s;
    if (peak.precision != row.parameter("precision")) ceiling.flops_precision = peak.precision;
    compute_s = work / peak.rate.per_s;
  }
  const Roof roof = find_roof(row, ceilings, levels);
  // The ceiling is that of the ranks that compute the problem together.
  const double share = ranks.sharers / ranks.here;
  ceiling.memory_bytes = share * roof.bytes;
  if (roof.bytes > 0) {
    ceiling.bytes_per_s = share * roof.bytes_per_s;
    ceiling.level = roof.level;
  }
  const double least = std::max(compute_s, roof.seconds());
  if (!(least > 0)) throw NoCeiling{"neither its operations nor its traffic to memory are known"};
  // Roofline: least time = max(operations / peak, bytes / bandwidth), which is equivalent to rate
  // <= min(peak, intensity * bandwidth).
  ceiling.fraction = least / median;
  ceiling.bound_by = compute_s >= roof.seconds() ? "compute" : roof.level;
  ceiling.exceeded = least > (1 + ceiling_exceeded_above) * median;
  return ceiling;
}

/// Each layer is bounded by its own work, from the same measurements. If a layer is faster than its
/// ceiling, it may have found its data in a cache, where the previous layer left them. It then has
/// no ceiling. The row as a whole is judged, because it includes the work of all layers.
void add_layer_ceilings(Row& row, const std::vector<Bracket>& brackets,
                        const std::vector<std::size_t>& around,
                        const ResultEnvironment& environment) {
  for (RowLayer& layer : row.layers) {
    try {
      Row alone = make_row_of_layer(row, layer);
      alone.problem.shared_by = 1;  // each rank has its own operation
      layer.ceiling = make_ceiling(alone, brackets, around, environment);
      layer.ceiling->brackets.clear();  // the row has them
    } catch (const NoCeiling& none) {
      layer.ceiling_reason = none.reason;
    } catch (const Impossible& cannot) {
      layer.ceiling_reason = cannot.reason;
    }
  }
}

}  // namespace

static void visit_fields(SameAs<Bracket> auto& bracket, auto& fields) {
  fields.always("started", bracket.started, "seconds", bracket.seconds);
  fields.nullable("reason", bracket.reason);
  fields.always("rows", bracket.rows);
}
void to_json(json& document, const Bracket& bracket) { document = write_fields(bracket); }
void from_json(const json& document, Bracket& bracket) { read_fields(document, bracket); }

void add_ceiling(Row& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const ResultEnvironment& environment,
                 const std::string& otherwise) {
  row.ceiling.reset();
  try {
    if (!row.is_ok()) throw NoCeiling{"the row has no time"};
    if (around.empty()) throw NoCeiling{otherwise};
    row.ceiling = make_ceiling(row, brackets, around, environment);
    row.ceiling_reason.clear();
    add_layer_ceilings(row, brackets, around, environment);
  } catch (const NoCeiling& none) {
    row.ceiling_reason = none.reason;
  } catch (const Impossible& cannot) {
    take_back(row, cannot.reason);
  }
}

}  // namespace assay
