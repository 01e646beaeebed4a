#include "runner/ceilings/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/api/precision.hpp"
#include "core/result/impossible.hpp"
#include "core/result/layers.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "runner/ceilings/cache_levels.hpp"
#include "runner/ceilings/ceiling_place.hpp"
#include "runner/ceilings/gpu_peaks.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Why there is no ceiling.
struct NoCeiling {
  std::string reason;
};

/// The best that was seen, and how much a run of it did.
struct Rate {
  double per_s = 0, of = 0;
  bool judges = false;  ///< undisturbed: a row may be called impossible by it
  /// The rate by which it judges. What a library reached may lie far below what the device can:
  /// then it is at least the data sheet's, and without one nothing is judged.
  double surely = 0;
};

/// The ranks of a row, and what its problem is beside what one of them does. A ceiling is measured
/// by all ranks at once, each with a problem of its own, so it is one rank's beside the others.
struct Ranks {
  double all = 1;
  double here = 1;     ///< that share the memory and the caches that a row's levels are of
  double sharers = 1;  ///< that do the problem together: all, or 1
};

Ranks ranks_of(const json& row) {
  const json& parameters = row.at("parameters");
  Ranks ranks;
  ranks.all = parameters.value("ranks", 1.0);
  if (ranks.all == 1) return ranks;
  if (ceiling_place(parameters).is_processor())
    ranks.here = std::ceil(ranks.all / parameters.value("nodes", 1.0));
  const json sharers = row.at("problem").value("shared_by", json());
  if (!sharers.is_number())
    throw NoCeiling{"whether its ranks share the problem is not known (an older program)"};
  ranks.sharers = sharers;
  return ranks;
}

/// What some brackets measured in the way that a row ran: with its threads, or on its device, ranks
/// and nodes.
class Ceilings {
 public:
  Ceilings(const std::vector<Bracket>& brackets, const std::vector<std::size_t>& around,
           const json& parameters, const json& device, const std::vector<CacheLevel>& levels,
           const Ranks& ranks)
      : place_(ceiling_place(parameters)),
        device_(device.is_string() ? device.get<std::string>() : ""),
        levels_(levels),
        ranks_(ranks) {
    for (const std::size_t index : around)
      for (const json& row : brackets[index].at("rows"))
        if (same_way(row.at("parameters"), parameters) && same_device(row, device))
          rows_.push_back(&row);
  }

  bool none() const { return rows_.empty(); }
  const Ranks& ranks() const { return ranks_; }

  /// Of one rank.
  std::optional<Rate> peak(const std::string& precision, std::string& why) const {
    std::optional<Rate> peak = most(
        [&](const json& row) {
          return kernel(row, place_.is_processor() ? "fma" : "matmul") &&
                 row.at("parameters").value("precision", "") == precision;
        },
        "flops", why);
    if (!peak || place_.is_processor()) return peak;
    const auto sheet = data_sheet_flops(device_, precision);
    peak->judges = peak->judges && sheet.has_value();
    peak->surely = std::max(peak->surely, sheet.value_or(0));
    return peak;
  }

  /// Of one rank, of the data that lie in a level, read or (in memory) read and written.
  std::optional<Rate> bandwidth(std::size_t level, std::string& why) const {
    const auto measures = [&](const json& row) {
      return (kernel(row, "read") || kernel(row, "triad") || kernel(row, "copy")) &&
             row.at("parameters").value("precision", "") == "fp64" &&
             level_of(bytes_of(row), levels_) == level;
    };
    // Of arrays in memory the largest ones that there was room for: of smaller ones the cache holds
    // more.
    double largest = 0;
    if (level == levels_.size())
      for (const json* row : rows_)
        if (measures(*row) && row->at("status") == "ok")
          largest = std::max(largest, bytes_of(*row));
    std::optional<Rate> rate =
        most([&](const json& row) { return measures(row) && 2 * bytes_of(row) >= largest; },
             "bytes", why);
    // By no less than the data sheet, where there is one.
    if (rate && level == levels_.size() && !place_.is_processor())
      rate->surely = std::max(rate->surely, data_sheet_bandwidth(device_).value_or(0));
    return rate;
  }

 private:
  bool same_way(const json& mine, const json& its) const {
    return ceiling_place(mine) == place_ &&
           (!place_.is_processor() ||
            mine.value("threads", json()) == its.value("threads", json())) &&
           mine.value("ranks", 1) == its.value("ranks", 1) &&
           mine.value("nodes", 1) == its.value("nodes", 1);
  }
  /// Of what was not measured the reason counts, wherever it was tried.
  bool same_device(const json& row, const json& device) const {
    return place_.is_processor() || row.at("status") != "ok" ||
           (device.is_string() && row.value("measured_on", json()) == device);
  }
  /// The working set of the ranks that share the levels.
  double bytes_of(const json& row) const {
    const json& problem = row.at("problem");
    return ranks_.here * problem.at("bytes").get<double>() / problem.value("passes", 1.0);
  }

  static bool kernel(const json& row, const char* name) {
    return row.at("problem").at("descriptor").get_ref<const std::string&>().starts_with(name);
  }

  /// The largest rate: what bounds is the best that was seen, so the best sample counts (as in
  /// STREAM itself), of all algorithms, before and after.
  template <class Which>
  std::optional<Rate> most(const Which& which, const char* amount, std::string& why) const {
    std::optional<Rate> most;
    for (const json* row : rows_) {
      if (!which(*row)) continue;
      if (row->at("status") != "ok") {
        why = fmt::format("{}: {}", row->at("status").get<std::string>(),
                          row->at("reason").get<std::string>());
        continue;
      }
      const double seconds = row->at("time_s").at("min");
      const double done = row->at("problem").at(amount);
      if (seconds > 0 && (!most || done / seconds > most->per_s))
        most = Rate{done / seconds, done, mark_of(*row).empty(), done / seconds};
    }
    return most;
  }

  CeilingPlace place_;
  std::string device_;  ///< its name, if it has one
  std::vector<const json*> rows_;
  const std::vector<CacheLevel>& levels_;
  Ranks ranks_;
};

/// Operations that the row's algorithm did, of one rank (of a shared problem on average: the rank
/// that does most takes no less).
double operations(const json& row, const Ranks& ranks) {
  if (const auto done = operations_done(row)) return *done / ranks.sharers;
  throw NoCeiling{fmt::format("how many operations {} did is not known",
                              row.at("executed").at("algorithm").get<std::string>())};
}

/// A bound by moving data: so many bytes from a level, all of those ranks that share it.
struct Roof {
  std::string level;
  double bytes = 0, bytes_per_s = 0;
  bool judges = false;
  double surely = 0;  ///< as in Rate
  double seconds() const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
};

/// What a run moves: its data, over and over.
struct Traffic {
  double each = 0, passes = 1;
};

/// Of all ranks that share the levels. How often an analysis goes over its table may be known after
/// the run alone.
Traffic traffic_of(const json& row, const Ranks& ranks) {
  const json& problem = row.at("problem");
  const double share = ranks.here / ranks.sharers;
  const json passes =
      row.at("executed").is_object() ? row["executed"].value("passes", json()) : json();
  if (passes.is_number() && problem.contains("size"))
    return {share * problem["size"].get<double>(), passes};
  const json bytes = problem.value("bytes", json());
  if (!bytes.is_number()) return {};
  const double times = problem.value("passes", 1.0);
  return {share * bytes.get<double>() / times, times};
}

/// The highest of the roofs of a row: cold, all of its data come from memory; hot, from the levels
/// that can hold them, each pass less what lies inside of it.
Roof roof_of(const json& row, const Ceilings& ceilings, const std::vector<CacheLevel>& levels) {
  const Ranks& ranks = ceilings.ranks();
  const auto [bytes, passes] = traffic_of(row, ranks);
  if (!(bytes * passes > 0)) return {};
  const bool cold = row.at("parameters").value("cache", "hot") == "cold";
  const bool on_device = !ceiling_place(row.at("parameters")).is_processor();
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
    // A run of the probe is short beside the launch of a kernel, which a row has, too: it takes no
    // less than the probe if it moves no less, but more may go at a higher rate.
    if (on_device && level < levels.size()) roof.bytes = std::min(roof.bytes, bandwidth->of);
    if (roof.seconds() > highest.seconds()) highest = roof;
  }
  return highest;
}

/// The peak of a row, and the precision in which it was measured.
struct Peak {
  Rate rate;
  std::string precision;
};

Peak peak_of(const json& row, const Ceilings& ceilings) {
  std::string precision = arithmetic_name(row.at("parameters").value("precision", ""));
  std::string why = "it was not measured";
  std::optional<Rate> peak = ceilings.peak(precision, why);
  // Where a processor computes 16-bit data in fp32, and the row says that it did so.
  const json compute = row.at("executed").value("compute", json());
  if (compute == "fp32" && precision != "fp32" && precision != "fp64") {
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

/// The least time by what may judge the row (Rate::judges), each bound by itself: where one of them
/// is unknown, the other still judges.
LeastTime surely_least(const json& row, const Ceilings& ceilings,
                       const std::vector<CacheLevel>& levels) {
  LeastTime least;
  const auto consider = [&](const auto& bound) {
    try {
      const auto [judges, found] = bound();
      if (judges && found.seconds > least.seconds) least = found;
    } catch (const NoCeiling&) {
    }
  };
  consider([&] {
    const double work = operations(row, ceilings.ranks());
    if (!(work > 0)) return std::pair(false, LeastTime{});
    const Rate peak = peak_of(row, ceilings).rate;
    return std::pair(peak.judges, LeastTime{work / peak.surely, "compute"});
  });
  consider([&] {
    const Roof roof = roof_of(row, ceilings, levels);
    return std::pair(roof.judges,
                     LeastTime{roof.surely > 0 ? roof.bytes / roof.surely : 0, roof.level});
  });
  return least;
}

/// Why the row is no row with a ceiling, but one that cannot be.
struct Impossible {
  std::string reason;
};

json ceiling_of(const json& row, const std::vector<Bracket>& brackets,
                const std::vector<std::size_t>& around, const json& environment) {
  const json& parameters = row.at("parameters");
  if (row.at("benchmark") == "stream") throw NoCeiling{"stream measures ceilings itself"};
  const CeilingPlace place = ceiling_place(parameters);
  if (place.backend.empty()) throw NoCeiling{"a transport's ceilings are not measured"};
  std::vector<std::size_t> good;
  for (const std::size_t index : around)
    if (brackets[index].at("reason").is_null()) good.push_back(index);
  if (good.empty()) throw NoCeiling{brackets[around.front()].at("reason").get<std::string>()};
  const Ranks ranks = ranks_of(row);
  const std::vector<CacheLevel> levels =
      place.is_processor()
          ? cache_levels(environment.at("hardware"),
                         parameters.value("threads", 1) * static_cast<int>(ranks.here))
          : device_levels(told_of(place, environment));
  const json device = device_name(place, environment);
  const Ceilings ceilings(brackets, good, parameters, device, levels, ranks);
  if (ceilings.none())
    throw NoCeiling{fmt::format(
        "no ceiling was measured {} in each of {} ranks on {} nodes",
        place.is_processor()
            ? fmt::format("with {} threads", parameters.value("threads", json()).dump())
            : fmt::format("by {} on this {} ({})", place.backend, place.device,
                          device.is_string() ? device.get<std::string>() : "which has no name"),
        parameters.value("ranks", 1), parameters.value("nodes", 1))};

  const double median = row.at("time_s").at("median");
  if (const auto why = why_impossible(median, surely_least(row, ceilings, levels));
      why && (!place.is_processor() || bounded_by_native(row)))
    throw Impossible{*why};
  if (!(median > 0)) throw NoCeiling{"the time is below the clock's resolution"};
  const double work = operations(row, ranks);
  json ceiling = {{"flops_per_s", nullptr}, {"bytes_per_s", nullptr}, {"brackets", good}};
  double compute_s = 0;
  if (work > 0) {
    const Peak peak = peak_of(row, ceilings);
    ceiling["flops_per_s"] = ranks.sharers * peak.rate.per_s;
    if (peak.precision != parameters.value("precision", ""))
      ceiling["flops_precision"] = peak.precision;
    compute_s = work / peak.rate.per_s;
  }
  const Roof roof = roof_of(row, ceilings, levels);
  // Told of the ranks that the problem is of.
  const double told = ranks.sharers / ranks.here;
  ceiling["memory_bytes"] = told * roof.bytes;
  if (roof.bytes > 0) {
    ceiling["bytes_per_s"] = told * roof.bytes_per_s;
    ceiling["level"] = roof.level;
  }
  const double least = std::max(compute_s, roof.seconds());
  if (!(least > 0)) throw NoCeiling{"neither its operations nor its traffic to memory are known"};
  // Roofline: least time = max(operations / peak, bytes / bandwidth), which is the same as rate <=
  // min(peak, intensity * bandwidth).
  ceiling["fraction"] = least / median;
  ceiling["bound_by"] = compute_s >= roof.seconds() ? "compute" : roof.level;
  ceiling["exceeded"] = least > (1 + ceiling_exceeded_above) * median;
  return ceiling;
}

/// Each by the bounds of its own work, from the same measurements. A layer whose time no ceiling
/// allows may have found the data in a cache, where the layer before it has left them: it has no
/// ceiling, and the row, whose work all layers do, is judged as a whole.
void add_layer_ceilings(json& row, const std::vector<Bracket>& brackets,
                        const std::vector<std::size_t>& around, const json& environment) {
  for (json& layer : row["layers"]) {
    try {
      json alone = layer_as_row(row, layer);
      alone["problem"]["shared_by"] = 1;  // an operation is each rank's own
      layer["ceiling"] = ceiling_of(alone, brackets, around, environment);
      layer["ceiling"].erase("brackets");  // the row's
    } catch (const NoCeiling& none) {
      layer["ceiling_reason"] = none.reason;
    } catch (const Impossible& cannot) {
      layer["ceiling_reason"] = cannot.reason;
    }
  }
}

}  // namespace

void add_ceiling(json& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const json& environment,
                 const std::string& otherwise) {
  row["ceiling"] = nullptr;
  try {
    if (row.at("status") != "ok") throw NoCeiling{"the row has no time"};
    if (around.empty()) throw NoCeiling{otherwise};
    row["ceiling"] = ceiling_of(row, brackets, around, environment);
    row["ceiling_reason"] = nullptr;
    if (row.contains("layers")) add_layer_ceilings(row, brackets, around, environment);
  } catch (const NoCeiling& none) {
    row["ceiling_reason"] = none.reason;
  } catch (const Impossible& cannot) {
    take_back(row, cannot.reason);
  }
}

}  // namespace assay
