#pragma once
// Results of other systems, measured or published: result files in results-schema/baselines/.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/result/launches.hpp"

namespace assay {

/// Which of several comparable rows is used: one that was made in the same way (algorithm, SMT,
/// framework, transport), or the fastest in any case.
enum class Preference { same_way, fastest };

/// The rows of a system, found by what was computed: benchmark, problem, and the parameters that
/// define the work (direction, precision).
class Baseline {
 public:
  /// From a result file, or the name of a file in results-schema/baselines/. InputError with the
  /// nearest name.
  static Baseline load(const std::string& file_or_name);
  /// From rows in memory, all of the same environment.
  static Baseline of(const std::string& system, const std::vector<nlohmann::json>& rows);
  const std::string& system() const { return system_; }
  const std::vector<nlohmann::json>& rows() const { return rows_; }

  /// A baseline of the same system with the rows whose parameter has this value (as text).
  Baseline where(const std::string& parameter, const std::string& value) const;

  /// The "baseline" object for a row:
  /// {"system", "value", "unit", "speedup", "published", "citation", "algorithm", "note"}.
  /// speedup: time of the baseline / time of the row, or, where one of them has no time, rate of
  /// the row / rate of the baseline (above 1: the row is faster). Where the source prints a ratio
  /// that does not follow from its rounded numbers, speedup is that ratio ("ratio_printed").
  /// "projection": its number was not measured. "not_given": parameters that the source leaves to
  /// the name of the problem, so that the ratio holds only if they were the row's. null
  /// where the baseline has no comparable number; `why` then says what differs. Unless
  /// `preference` says otherwise rows with the row's algorithm are preferred; else the fastest row
  /// is used and "note" says so. The launches of an
  /// id in an environment are summarized as in core/result/launches.hpp.
  nlohmann::json match(const nlohmann::json& row, std::string* why = nullptr,
                       Preference preference = Preference::same_way) const;

 private:
  void add(nlohmann::json row, std::string environment);
  /// Indices of the rows of the same benchmark and descriptor; where there are none, of those whose
  /// descriptor is the name that a list of problems gives the row's problem ("8GB" of
  /// "coral2/8GB").
  std::vector<std::size_t> of_same_problem(const nlohmann::json& row) const;
  /// The launches of each id among `candidates` (indices of rows) that did the work of `row`, by
  /// id. `reason`: why other candidates did not.
  std::map<std::string, LaunchGroups> same_work(const nlohmann::json& row,
                                                const std::vector<std::size_t>& candidates,
                                                std::string& reason) const;

  std::string system_;
  std::vector<nlohmann::json> rows_;
  std::vector<std::string> environments_;  ///< environment_key of each row
  /// Benchmark and problem → indices of their rows, because a report matches many rows.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> rows_of_work_;
};

/// Gives a row its "baseline": the first comparable number; where there is none, "baseline_reason"
/// says why of each.
void add_baseline(nlohmann::json& row, const std::vector<Baseline>& baselines);

/// The file that a name stands for: `file_or_name` itself where it exists, else the shipped
/// baseline of this name. InputError with the nearest name.
std::filesystem::path baseline_file(const std::string& file_or_name);

/// Names of the shipped baselines.
std::vector<std::string> baseline_names();

}  // namespace assay
