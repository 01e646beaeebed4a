#pragma once
// The launches of one case, brought to one value or to the reason why there is none.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/result/launches.hpp"
#include "core/result/result.hpp"

namespace assay {

struct NamedResult {
  std::string name;  ///< "" where there is only one
  nlohmann::json result;
};

/// The launches of one id in one environment of one result.
struct Series : Launches {
  std::size_t result = 0;  ///< index into the results given
  Interval interval;       ///< one launch: of its samples; several: of the launches' medians
  bool has_interval = false;
  /// Whether `interval` is only the range of few launches, which holds the median with less than
  /// 95 %: it must never stand under the name of an interval.
  bool is_range = false;
  std::string parameter(const std::string& name) const;
  /// The algorithm that ran, with the one asked for where that is another.
  std::string algorithm() const;
  /// A name from a list, or the descriptor.
  std::string problem() const;
};

/// All series of some results, by problem and settings, equal ids of several results together. An
/// id whose launches ran in several environments (hardware or software) is several series.
std::vector<Series> series_of(const std::vector<NamedResult>& results);

/// Published as a rate alone.
bool rate_alone(const Series& series);
/// An ok row with a time above the clock's resolution.
bool has_time(const Series& series);
/// Amount of work over the series' median, from a rate of its first row; null where there is none.
nlohmann::json rate_of(const Series& series, const std::string& name);
/// A finite number of row.problem, else null.
nlohmann::json problem_number(const Series& series, const std::string& name);
/// All parameters but `without`, as "name=value …": what two rows must share to be set in relation.
std::string parameters_but(const Series& series, const std::vector<std::string>& without);
std::string system_of(const std::vector<NamedResult>& results, const Series& series);

/// Whether any of its launches was timed on processors that others wanted.
bool any_shared(const Series& series);
/// Whether any of its launches had more threads or ranks than processors, and none the above.
bool any_oversubscribed(const Series& series);
/// The mark behind every number that comes from the series' times: "!", "~", or "".
std::string mark_of(const Series& series);

/// Whether an id stands more than once in a result, its launches having run in environments that
/// differ.
bool ids_repeat(const std::vector<Series>& all);
inline constexpr const char* environments_note =
    "One id stands more than once: the hardware or the software of its launches differed "
    "(environment: index in the result file), and such launches are never brought to one number.";

/// A parameter's value as text ("2" for the number 2), "" for what is absent or null.
std::string text_of(const nlohmann::json& object, const std::string& key);

}  // namespace assay
