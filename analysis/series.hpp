#pragma once
// The launches of a case, summarised as one value, or as the reason why there is no value.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/result/launches.hpp"
#include "core/result/result.hpp"
#include "core/result/run_result.hpp"

namespace assay {

struct NamedResult {
  std::string name;  ///< "" if it is the only result
  RunResult result{};

  const RunHeader& run() const { return result.run; }
  const std::string& system() const { return result.system; }
  const std::vector<ResultEnvironment>& environments() const { return result.environments; }
  const std::vector<Row>& rows() const { return result.rows; }
  /// The environment of a row; an empty one if the row has none.
  const ResultEnvironment& environment(const Row& row) const { return result.environment(row); }
};

using Results = std::vector<NamedResult>;

/// The launches of a row id in one environment of a result.
struct Series : Launches {
  std::size_t result = 0;  ///< index of the result
  Interval interval;       ///< of the medians of the launches; of the samples with a single launch
  bool has_interval = false;
  /// True if `interval` is only the range of a few launches, which contains the median with a
  /// probability below 95 %. It must never be called an interval.
  bool is_range = false;
  std::string parameter(const std::string& name) const;
  /// The algorithm that ran, followed by the requested algorithm if that differs.
  std::string algorithm() const;
  /// A name from a list, or the descriptor.
  std::string problem() const;
};

using SeriesList = std::vector<Series>;

/// All series of the results, sorted by problem and settings, so that equal ids of several results
/// are adjacent. If the launches of an id ran in several environments (hardware, software), it has
/// several series. The series refer to the rows of the results, which must not change while the
/// series exist.
SeriesList make_series(const Results& results);
/// The same, with copies of the rows.
SeriesList make_series(Results&& results);

/// True if the series is a published rate without a time.
bool rate_alone(const Series& series);
/// True if the series is ok, with a time above the resolution of the timer.
bool has_time(const Series& series);
/// The rate `name` at the median of the series; nothing if the rows lack it.
std::optional<double> find_rate(const Series& series, const std::string& name);
/// Joules per run, the median of the launches; nothing if a launch has no energy, or measured other
/// domains than the first launch.
std::optional<double> compute_energy(const Series& series);
/// The domains whose energy was measured: "package-0 + package-0/dram"; "" where there are none.
std::string energy_domains(const Series& series);
/// The number `name` of the problem; nothing if the problem lacks it.
std::optional<double> problem_number(const Series& series, const std::string& name);
/// All parameters except those in `without`, as "name=value …". Rows with equal texts are
/// comparable.
std::string list_parameters_but(const Series& series, const std::vector<std::string>& without);
std::string name_system(const Results& results, const Series& series);

/// The hash of the hardware. Only on equal hardware is a ratio of two rows due to their settings.
std::string describe_hardware(const Results& results, const Series& series);
/// A text that distinguishes the environment of a series from others (ResultEnvironment::key), but
/// omits the library that the parameter `by` chooses. The version of that library is in
/// software.libraries under the parameter's name; two BLAS libraries are in two processes, so their
/// environments may differ in it. If `by` is threads, ranks or nodes, these numbers in the
/// launcher's mapping are omitted, too.
std::string environment_but(const Results& results, const Series& series, const std::string& by);
/// Benchmark and problem.
std::string describe_work(const Series& series);
/// The value of a parameter that is a number, else 0.
double parameter_number(const Series& series, const std::string& name);
/// True if the series is of a collective (it has a bus bandwidth).
bool is_collective(const Series& series);

/// True if `is` (was_shared, was_disturbed) holds for any launch.
bool any_launch(const Launches& launches, auto is) {
  return std::any_of(launches.rows.begin(), launches.rows.end(), is);
}
/// The mark of a number that depends on the times of both: the more severe mark.
std::string choose_mark(const Series& a, const Series& b);

/// True if a result has an id several times, because its launches ran in different environments.
bool ids_repeat(const SeriesList& all);
inline constexpr const char* environments_note =
    "An id is listed more than once: its launches ran with different hardware or software "
    "(environment: index in the result file), and such launches are never combined.";

nlohmann::json number_or_null(const std::optional<double>& value);
/// The value of a key as text ("2" for the number 2); "" where it is absent or null.
std::string read_field(const nlohmann::json& object, const std::string& key);

/// The median of the launches; nothing without a ceiling.
std::optional<double> ceiling_fraction(const Series& series);
/// True if a launch was faster than its ceiling by more than 3 % (the mark ^).
bool exceeds_ceiling(const Series& series);

}  // namespace assay
