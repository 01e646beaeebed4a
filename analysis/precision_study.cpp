#include "analysis/precision_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/curves.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/api/precision.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/result/baseline.hpp"

namespace assay {

namespace {

const std::string reference = "fp32";

/// A field of "executed" if all launches agree in it, else "".
std::string execution(const Series& series, std::string RowExecution::*field) {
  std::set<std::string> values;
  for (const Row& row : series.rows) values.insert(row.execution ? (*row.execution).*field : "");
  return values.size() == 1 ? *values.begin() : "";
}

std::string name_compute(const Series& series, const std::string& precision_name) {
  const std::string compute_type = execution(series, &RowExecution::compute);
  if (precision_name == "tf32") {
    const std::optional<double> error = largest_norm_error(series);
    if (error && *error < least_error_of_tf32) return reference;
  }
  const bool shown_by_errors = precision_name == "fp64" || precision_name == reference;
  return compute_type.empty() && shown_by_errors ? precision_name : compute_type;
}

/// Bytes of an element of a precision; nothing if it is not a storage type.
std::optional<double> element_bytes(const std::string& precision) {
  for (const DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16})
    if (precision == name(type)) return static_cast<double>(size_of(type));
  return std::nullopt;
}

/// Equal for the same work in any precision; "" if the number of elements of a message is unknown.
std::string work_key(const Series& series) {
  const Row& row = series.first();
  const std::string where =
      fmt::format("{} {} {}", series.result, series.environment, row.benchmark);
  if (!row.rate("busbw"))
    return fmt::format("{} {} {}", where, row.problem.descriptor,
                       list_parameters_but(series, {"precision", "algorithm", "problem"}));
  const auto size = element_bytes(series.parameter("precision"));
  const auto bytes = message_bytes(series);
  if (!size || !bytes) return "";
  return fmt::format("{} {} {}", where, *bytes / *size,
                     list_parameters_but(series, {"precision", "algorithm", "problem", "bytes"}));
}

/// fp32's number over the row's, for each launch that both have.
template <class Number>
std::optional<RatioToFp32> pair_with_fp32(const Series& fp32, const Series& series,
                                          const Number& number) {
  std::map<std::int64_t, double> base;  // by launch
  for (const Row& row : fp32.rows)
    if (const double value = number(row); value > 0) base.emplace(row.launch, value);
  std::vector<double> over, under;
  for (const Row& row : series.rows) {
    const auto same = base.find(row.launch);
    const double value = number(row);
    if (same == base.end() || !(value > 0)) continue;
    over.push_back(same->second);
    under.push_back(value);
  }
  if (over.empty()) return std::nullopt;
  const Ratio ratio = compute_paired_ratio(over, under);
  RatioToFp32 result{ratio.value, std::nullopt, over.size() < std::size_t{least_for_interval},
                     over.size()};
  if (over.size() > 1) result.interval = ratio.ci95;
  return result;
}

/// Published numbers have no launches, so their ratio is the one that Baseline permits.
void beside_published(PrecisionRow& row) {
  Row same = row.series->first();
  same.parameters["precision"] = reference;
  const std::optional<RowBaseline> match =
      Baseline::make_of_launches("precision fp32", *row.fp32).match(same, &row.note);
  if (!match) return;
  row.note = match->note;
  if (match->speedup > 0) row.speedup = RatioToFp32{match->speedup, std::nullopt, false, 0};
}

void beside_measured(PrecisionRow& row) {
  const Series &series = *row.series, &fp32 = *row.fp32;
  if (fp32.published != series.published) {
    row.note = "published numbers are not set beside measured ones";
    return;
  }
  // An update of peak/fma has two multiply-adds in bf16, one in fp32.
  if (const auto own = series.first().problem.flops, its = fp32.first().problem.flops;
      own && its && *own != *its) {
    row.note = fmt::format("its fp32 executes {}, this row {}", format_with_unit(*its, "FLOP"),
                           format_with_unit(*own, "FLOP"));
    return;
  }
  row.speedup = pair_with_fp32(fp32, series, [](const Row& launch) { return launch.median(); });
  // Joules of different counters measure different things.
  if (compute_energy(series) && energy_domains(series) == energy_domains(fp32))
    row.energy =
        pair_with_fp32(fp32, series, [](const Row& launch) { return launch.energy_j.value_or(0); });
  const std::size_t launches = std::max(fp32.rows.size(), series.rows.size());
  const std::size_t pairs = row.speedup ? row.speedup->pairs : 0;
  if (pairs == 0)
    row.note = "no launch has both this row and its fp32";
  else if (pairs < launches)
    row.note = fmt::format("{} of {} launches {} both this row and its fp32", pairs, launches,
                           by_count(pairs, "has", "have"));
}

/// Why a group has no fp32 row for comparison.
std::string why_no_reference(const PrecisionGroup& group) {
  for (const PrecisionRow& row : group) {
    if (row.series->parameter("precision") != reference) continue;
    if (row.series->status != "ok") return "its fp32 is " + row.series->status;
    if (row.precision != reference) return "its fp32 is " + row.precision;
    return "its fp32 has no time above the resolution of the timer";
  }
  return "there is no fp32 row of the same work";
}

void complete(PrecisionGroup& group) {
  static const std::vector<std::string> order = list_precision_names();
  std::stable_sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
    const auto place = [](const PrecisionRow& row) {
      return std::find(order.begin(), order.end(), row.series->parameter("precision"));
    };
    return place(a) < place(b);
  });
  const Series* fp32 = nullptr;
  for (const PrecisionRow& row : group)
    if (row.precision == reference && has_time(*row.series) &&
        (fp32 == nullptr || row.series->median < fp32->median))
      fp32 = row.series;
  for (PrecisionRow& row : group) {
    row.fp32 = fp32;
    if (row.is_reference() || (row.series->status != "ok" && !rate_alone(*row.series))) continue;
    if (fp32 == nullptr)
      row.note = why_no_reference(group);
    else if (row.series->published && fp32->published)
      beside_published(row);
    else
      beside_measured(row);
  }
}

}  // namespace

std::optional<double> largest_norm_error(const Series& series) {
  std::optional<double> largest;
  for (const Row& row : series.rows) {
    if (!row.verification || !row.verification->norm_error) return std::nullopt;
    largest = std::max(largest.value_or(0), *row.verification->norm_error);
  }
  return largest;
}

std::string find_executed_precision(const Series& series) {
  const std::string precision_name = series.parameter("precision");
  if (series.status != "ok" || series.published) return precision_name;
  const std::string compute = name_compute(series, precision_name);
  if (compute == arithmetic_name(precision_name)) return precision_name;
  std::string storage = execution(series, &RowExecution::storage);
  if (storage.empty()) storage = precision_name == "tf32" ? reference : precision_name;
  return compute.empty() ? storage + " storage, arithmetic unknown"
                         : fmt::format("{} storage, {} arithmetic", storage, compute);
}

std::vector<PrecisionGroup> group_by_precision(const SeriesList& all) {
  std::vector<PrecisionGroup> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string key = work_key(all[i]);
    if (key.empty()) key = fmt::format("alone {}", i);
    const auto [place, fresh] = places.emplace(key, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back({&all[i], find_executed_precision(all[i])});
  }
  for (PrecisionGroup& group : groups) complete(group);
  return groups;
}

}  // namespace assay
