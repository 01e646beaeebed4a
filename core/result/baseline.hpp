#pragma once
// Baselines: results of other systems, measured or published, with which rows are compared. They
// are result files; those of results-schema/baselines/ are found by name.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result/launches.hpp"

namespace assay {

/// Chooses among several comparable rows of a baseline: one that was measured in the same way
/// (algorithm, SMT, framework, transport) if there is one, or always the fastest.
enum class Preference { same_way, fastest };

/// The rows of one system. They are found by their work: benchmark, problem, and the parameters
/// that define it (direction, precision).
class Baseline {
 public:
  /// Reads a result file, or a file in results-schema/baselines/ by its name. InputError with the
  /// nearest name.
  static Baseline load(const std::string& file_or_name);
  /// Makes a baseline of rows in memory, all of the same environment.
  static Baseline make(const std::string& system, const std::vector<Row>& rows);
  static Baseline make_of_launches(const std::string& system, const Launches& launches);
  const std::string& system() const { return system_; }
  const std::vector<SharedRow>& rows() const { return rows_; }

  /// The same system, with only the rows in which `parameter` has this value (as text).
  Baseline where(const std::string& parameter, const std::string& value) const;

  /// The "baseline" of a row; nothing if no row of this baseline is comparable, with the first
  /// difference in `why`. Its fields:
  ///   system, citation, published, note, algorithm  of the baseline's row
  ///   value, unit    the baseline's number
  ///   speedup        time of the baseline / time of the row; if one of them has no time, rate of
  ///                  the row / rate of the baseline. Above 1 the row is faster.
  ///   ratio_printed  the source prints a ratio that does not follow from its rounded numbers;
  ///                  `speedup` is the printed one
  ///   projection     the baseline's number was not measured
  ///   not_given      parameters that the source does not state, because the name of the problem
  ///                  implies them; the speedup is valid only if they equal the row's
  /// Rows with the row's algorithm are preferred (unless `preference` is `fastest`). If the fastest
  /// row of another algorithm is used, "note" says so. The launches of an id in one environment are
  /// summarized as in core/result/launches.hpp.
  std::optional<RowBaseline> match(const Row& row, std::string* why = nullptr,
                                   Preference preference = Preference::same_way) const;

 private:
  void add(SharedRow row, std::string environment);
  /// Indices of the rows with the same benchmark and descriptor. If there are none, of those whose
  /// descriptor is the name of the row's problem in a list ("8GB" of "coral2/8GB").
  std::vector<std::size_t> have_same_problem(const Row& row) const;
  /// The rows among `candidates` (indices) that did the same work as `row`: their launches by id.
  /// `reason`: why another candidate did not.
  std::map<std::string, LaunchGroups> same_work(const Row& row,
                                                const std::vector<std::size_t>& candidates,
                                                std::string& reason) const;

  std::string system_;
  std::vector<SharedRow> rows_;
  std::vector<std::string> environments_;  ///< ResultEnvironment::key() of each row
  /// Indices of rows by benchmark and problem. A report matches many rows, so it must be fast.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> rows_of_work_;
};

/// Sets "baseline" of a row to the match of the first baseline that has one. If none has,
/// "baseline_reason" gives the reason of each.
void add_baseline(Row& row, const std::vector<Baseline>& baselines);

/// The file `file_or_name` if it exists, else the shipped baseline of this name. InputError with
/// the nearest name.
std::filesystem::path baseline_file(const std::string& file_or_name);

/// Names of the shipped baselines.
std::vector<std::string> list_baseline_names();

}  // namespace assay
