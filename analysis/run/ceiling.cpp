#include "analysis/run/ceiling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/run/cache_levels.hpp"
#include "core/result_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Why there is no ceiling.
struct NoCeiling {
  std::string reason;
};

/// What some brackets measured in the way that a row ran: with its threads, ranks and nodes.
class Ceilings {
 public:
  Ceilings(const std::vector<Bracket>& brackets, const std::vector<std::size_t>& around,
           const json& parameters, const std::vector<CacheLevel>& levels)
      : levels_(levels) {
    for (const std::size_t index : around)
      for (const json& row : brackets[index].at("rows"))
        if (same_way(row.at("parameters"), parameters)) rows_.push_back(&row);
  }

  bool none() const { return rows_.empty(); }

  std::optional<double> peak(const std::string& precision, std::string& why) const {
    return most(
        [&](const json& row) {
          return kernel(row, "fma") && row.at("parameters").value("precision", "") == precision;
        },
        "flops", why);
  }

  /// Of the data that lie in a level, read or (in memory) read and written.
  std::optional<double> bandwidth(std::size_t level, std::string& why) const {
    return most(
        [&](const json& row) {
          const json& problem = row.at("problem");
          return (kernel(row, "read") || kernel(row, "triad")) &&
                 row.at("parameters").value("precision", "") == "fp64" &&
                 level_of(problem.at("bytes").get<double>() / problem.value("passes", 1.0),
                          levels_) == level;
        },
        "bytes", why);
  }

 private:
  static bool same_way(const json& mine, const json& its) {
    return mine.value("threads", json()) == its.value("threads", json()) &&
           mine.value("ranks", 1) == its.value("ranks", 1) &&
           mine.value("nodes", 1) == its.value("nodes", 1);
  }

  static bool kernel(const json& row, const char* name) {
    return row.at("problem").at("descriptor").get_ref<const std::string&>().starts_with(name);
  }

  /// The largest rate: what bounds is the best that was seen, so the best sample counts (as in
  /// STREAM itself), of all algorithms, before and after.
  template <class Which>
  std::optional<double> most(const Which& which, const char* amount, std::string& why) const {
    std::optional<double> most;
    for (const json* row : rows_) {
      if (!which(*row)) continue;
      if (row->at("status") != "ok") {
        why = fmt::format("{}: {}", row->at("status").get<std::string>(),
                          row->at("reason").get<std::string>());
        continue;
      }
      const double seconds = row->at("time_s").at("min");
      if (seconds > 0)
        most = std::max(most.value_or(0), row->at("problem").at(amount).get<double>() / seconds);
    }
    return most;
  }

  std::vector<const json*> rows_;
  const std::vector<CacheLevel>& levels_;
};

/// Operations that the row's algorithm did.
double operations(const json& row) {
  const json really = row.at("executed").value("algorithmic_flops", json());
  if (really.is_number()) return really;
  const json algorithm = row.at("executed").at("algorithm");
  if (algorithm.is_string() && saves_operations(algorithm))
    throw NoCeiling{
        fmt::format("how many operations {} did is not known", algorithm.get<std::string>())};
  const json nominal = row.at("problem").value("flops", json());
  return nominal.is_number() ? nominal.get<double>() : 0;
}

/// A bound by moving data: so many bytes from a level.
struct Roof {
  std::string level;
  double bytes = 0, bytes_per_s = 0;
  double seconds() const { return bytes_per_s > 0 ? bytes / bytes_per_s : 0; }
};

/// The highest of the roofs of a row: cold, all of its data come from memory; hot, from the levels
/// that can hold them, each less what lies inside of it.
Roof roof_of(const json& row, const Ceilings& ceilings, const std::vector<CacheLevel>& levels) {
  const json given = row.at("problem").value("bytes", json());
  if (!given.is_number() || given == 0) return {};
  const double bytes = given;
  const bool cold = row.at("parameters").value("cache", "hot") == "cold";
  if (levels.empty() && !cold) throw NoCeiling{"the sizes of the caches are unknown"};
  Roof highest;
  for (const std::size_t level :
       cold ? std::vector{levels.size()} : bounding_levels(bytes, levels)) {
    std::string why = "it was not measured";
    const auto bandwidth = ceilings.bandwidth(level, why);
    const Roof roof{level_name(level, levels), cold ? bytes : bytes_from(level, bytes, levels),
                    bandwidth.value_or(0)};
    if (!bandwidth) throw NoCeiling{fmt::format("no bandwidth of {} ({})", roof.level, why)};
    if (roof.seconds() > highest.seconds()) highest = roof;
  }
  return highest;
}

double peak_of(const json& row, const Ceilings& ceilings) {
  const std::string precision = row.at("parameters").value("precision", "");
  std::string why = "it was not measured";
  std::optional<double> peak = ceilings.peak(precision, why);
  // Where a processor computes 16-bit data in fp32, and the row says that it did so.
  const json compute = row.at("executed").value("compute", json());
  if (compute == "fp32" && precision != "fp32" && precision != "fp64") {
    std::string ignored;
    if (const auto other = ceilings.peak("fp32", ignored))
      peak = std::max(peak.value_or(0), *other);
  }
  if (!peak) throw NoCeiling{fmt::format("no peak of {} ({})", precision, why)};
  return *peak;
}

json ceiling_of(const json& row, const std::vector<Bracket>& brackets,
                const std::vector<std::size_t>& around, const json& environment) {
  const json& parameters = row.at("parameters");
  if (row.at("benchmark") == "stream") throw NoCeiling{"stream measures ceilings itself"};
  if (parameters.value("device", "cpu") != "cpu")
    throw NoCeiling{"the ceilings around it are the processor's, this row is a GPU's"};
  const double median = row.at("time_s").at("median");
  if (!(median > 0)) throw NoCeiling{"the time is below the clock's resolution"};
  std::vector<std::size_t> good;
  for (const std::size_t index : around)
    if (brackets[index].at("reason").is_null()) good.push_back(index);
  if (good.empty()) throw NoCeiling{brackets[around.front()].at("reason").get<std::string>()};
  const std::vector<CacheLevel> levels =
      cache_levels(environment.at("hardware"), parameters.value("threads", 1));
  const Ceilings ceilings(brackets, good, parameters, levels);
  if (ceilings.none())
    throw NoCeiling{
        fmt::format("no ceiling was measured with {} threads in each of {} ranks on {} nodes",
                    parameters.value("threads", json()).dump(), parameters.value("ranks", 1),
                    parameters.value("nodes", 1))};

  const double work = operations(row);
  json ceiling = {{"flops_per_s", nullptr}, {"bytes_per_s", nullptr}, {"brackets", good}};
  double compute_s = 0;
  if (work > 0) {
    const double peak = peak_of(row, ceilings);
    ceiling["flops_per_s"] = peak;
    compute_s = work / peak;
  }
  const Roof roof = roof_of(row, ceilings, levels);
  ceiling["memory_bytes"] = roof.bytes;
  if (roof.bytes > 0) {
    ceiling["bytes_per_s"] = roof.bytes_per_s;
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
  } catch (const NoCeiling& none) {
    row["ceiling_reason"] = none.reason;
  }
}

}  // namespace assay
