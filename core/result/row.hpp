#pragma once
// A row of a result: one launch of one case. make_row() (result.hpp) fills it from an outcome,
// read_result() from a file. The fields have the names of results-schema/result.schema.json, which
// describes them. A text that is unknown is empty, a number that is unknown has no value; times are
// in seconds, rates and amounts in the units of their names.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/statistics.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/burn.hpp"
#include "core/measure/case.hpp"
#include "core/measure/epoch.hpp"
#include "core/result/boxed.hpp"

namespace assay {

/// Numbers by name, some of them unknown.
using OptionalNumbers = std::map<std::string, std::optional<double>>;

struct RowProblem {
  std::string descriptor;
  std::optional<double> flops{}, bytes{};
  std::optional<int> shared_by{};
  std::optional<double> passes{};
  std::optional<OptionalNumbers> amounts{};
  /// The problem's own fields ("size", "mb").
  nlohmann::json rest = nlohmann::json::object();

  /// A number of `rest`; nothing if there is none.
  std::optional<double> number(const std::string& name) const;
};

struct RowExecution {
  std::string algorithm{}, implementation{}, storage{}, compute{}, accumulate{}, layout{};
  std::string evidence{};
  std::optional<std::uint64_t> workspace_bytes{};
  std::optional<double> algorithmic_flops{};
  std::optional<double> compute_s{}, exposed_s{}, kernels_s{};
  /// Further values that the backend has reported, most of them numbers.
  nlohmann::json rest = nlohmann::json::object();
};

struct RowVerification {
  bool passed = false;
  std::string reference{}, reason{};
  std::optional<double> max_error{}, norm_error{}, bound{}, norm_bound{}, error_over_bound{};
  std::optional<std::int64_t> checked{}, outputs{}, wrong{};
  std::optional<bool> exact{};
  nlohmann::json rest = nlohmann::json::object();
};

struct RowTime {
  double median = 0;
  std::optional<double> mad{}, min{}, p95{}, p99{};
  std::optional<Interval> ci95{};
  std::string ci95_reason{};
  std::optional<std::int64_t> n{};
  std::optional<double> n_effective{};
  std::string stopped_by{};
  std::optional<std::int64_t> batch{}, warmup_runs{};
  std::optional<double> clock_s{}, warmup_s{};
  std::optional<double> foreign{}, own{}, waiting{}, stolen{}, throttled{};  ///< of processors
  std::optional<int> slowest_rank{};
  std::string slowest_host{};
  std::vector<double> rank_medians_s{};
  std::optional<double> barrier_skew_s{};
  std::string host_included{};
  bool held = false;
  nlohmann::json rest = nlohmann::json::object();
};

struct RowCeiling {
  std::optional<double> flops_per_s{}, bytes_per_s{}, fraction{}, memory_bytes{};
  std::string flops_precision{}, bound_by{}, level{};
  std::optional<bool> exceeded{};
  std::vector<int> brackets{};
  nlohmann::json rest = nlohmann::json::object();
};

/// The number of another system beside the row's (Baseline::match).
struct RowBaseline {
  std::string system{};
  double value = 0;
  std::string unit{};  ///< "s", or the name of a rate
  double speedup = 1;
  bool published = false;
  std::string citation{}, algorithm{}, note{}, remark{}, ratio_printed{};
  bool projection = false, shared = false, throttled = false;
  std::vector<std::string> not_given{};
  nlohmann::json rest = nlohmann::json::object();
};

struct RowMetric {
  std::optional<double> value{};
  std::string unit{}, better{};  ///< better: "higher", "lower" or ""
  nlohmann::json rest = nlohmann::json::object();
};

/// An operation of a network ("layers").
struct RowLayer {
  std::string layer{}, direction{}, operation{}, problem{}, backend{}, algorithm{}, compute{};
  std::optional<double> algorithmic_flops{};
  std::int64_t runs = 1;
  double seconds = 0, flops = 0, bytes = 0;
  std::string host_included{};
  OptionalNumbers rates{};
  Boxed<RowCeiling> ceiling{};
  std::string ceiling_reason{};
  nlohmann::json rest = nlohmann::json::object();
};
struct RowLayersSum {
  double seconds = 0;
  std::optional<double> fraction{};
  bool agrees = false;
  nlohmann::json rest = nlohmann::json::object();
};

/// Readings of the row's device around its time.
struct RowDeviceState {
  nlohmann::json before = nlohmann::json::object(), after = nlohmann::json::object();
  double seconds = 0;                                          ///< of the samples
  std::optional<std::map<std::string, double>> throttled_s{};  ///< by reason, where it is known
  std::optional<bool> steady{};
  nlohmann::json rest = nlohmann::json::object();
};

/// Errors and links of a device of the row, read after it was measured.
struct RowDeviceHealth {
  std::string device{}, host{};               ///< host: of jobs of several ranks
  std::map<std::string, double> values{};     ///< states
  std::map<std::string, double> errors{};     ///< counters that did not rise meanwhile
  std::map<std::string, double> corrected{};  ///< counters
  std::map<std::string, double> corrected_meanwhile{};
  nlohmann::json rest = nlohmann::json::object();
};

/// The time of the row over that of another row, as a source prints it.
struct PrintedRatio {
  std::string system{}, row{}, text{};
  double value = 0;
};
/// The number as a published source prints it.
struct PrintedValue {
  std::optional<double> value{};
  std::string unit{}, text{}, reason{};
  std::vector<PrintedRatio> ratios{};
  nlohmann::json rest = nlohmann::json::object();
};

struct Row {
  std::string id, id_form{};
  std::vector<std::string> names{};
  std::string benchmark{};
  RowProblem problem{};
  int environment = 0;
  std::int64_t launch = 0, attempt = 0;
  bool required = false;
  std::map<std::string, nlohmann::json> parameters{};  ///< scalars
  std::vector<std::string> step_parameters{};
  std::optional<std::vector<std::string>> system_parameters{};
  std::optional<double> tolerance{};
  std::vector<ListShare> part_of{};
  std::string status{}, reason{};
  Boxed<RowExecution> execution{};
  Boxed<RowVerification> verification{};
  OptionalNumbers setup_s{};
  std::vector<double> samples_s{};
  Boxed<RowTime> time_s{};
  OptionalNumbers rates{};
  std::map<std::string, RowMetric> metrics{};
  std::vector<Epoch> epochs{};
  std::vector<RowLayer> layers{};
  Boxed<RowLayersSum> layers_sum{};
  Boxed<RowCeiling> ceiling{};
  std::string ceiling_reason{};
  std::optional<double> energy_j{};
  std::map<std::string, double> energy_domains_j{};
  std::string energy_reason{};
  Boxed<RowDeviceState> device_state{};
  std::vector<RowDeviceHealth> device_health{};
  Boxed<Burn> burn{};
  Boxed<Blame> blame{};
  Boxed<RowBaseline> baseline{};
  std::vector<RowBaseline> further_baselines{};
  std::string baseline_reason{};
  bool published = false;
  bool of_bracket = false;  ///< written without launch, samples, energy and ceiling
  std::string citation{}, note{}, projection{}, incomparable{}, comparable_within{};
  Boxed<PrintedValue> printed{};
  nlohmann::json rest = nlohmann::json::object();

  bool is_ok() const { return status == "ok"; }
  /// The median time; 0 if the row has none.
  double median() const { return time_s ? time_s->median : 0; }
  /// A parameter as text ("2"); "" if the row does not have it, or if it is null.
  std::string parameter(const std::string& name) const;
  /// A parameter that is a number; nothing if it is none.
  std::optional<double> number(const std::string& parameter) const;
  /// A rate; nothing if the row does not have it.
  std::optional<double> rate(const std::string& name) const;
};

// Each as it stands in a file, and back.
void from_json(const nlohmann::json& json, RowProblem& problem);
void to_json(nlohmann::json& json, const RowBaseline& baseline);
void from_json(const nlohmann::json& json, RowDeviceState& state);
void from_json(const nlohmann::json& json, RowDeviceHealth& health);
void to_json(nlohmann::json& json, const Epoch& epoch);
void to_json(nlohmann::json& json, const RowLayer& layer);
void to_json(nlohmann::json& json, const RowLayersSum& sum);
/// The row as it stands in a file, and back. json::exception for a field of another type: files are
/// checked before (result_check.hpp).
void to_json(nlohmann::json& json, const Row& row);
void from_json(const nlohmann::json& json, Row& row);

}  // namespace assay
