#pragma once
// Numbers of other systems, measured or published: result files under results-schema/baselines/.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// One system's rows, found by what was computed: benchmark, problem and the parameters that define
/// the work (direction, precision).
class Baseline {
 public:
  /// A result file, or the name of one in results-schema/baselines/. InputError with the nearest
  /// name.
  static Baseline load(const std::string& file_or_name);
  /// Rows at hand, all of one environment.
  static Baseline of(const std::string& system, const std::vector<nlohmann::json>& rows);
  const std::string& system() const { return system_; }
  const std::vector<nlohmann::json>& rows() const { return rows_; }

  /// The rows whose parameter has this value (as text), as a baseline of the same system.
  Baseline where(const std::string& parameter, const std::string& value) const;

  /// The "baseline" object for a row:
  /// {"system","value","unit","speedup","published","citation","algorithm"}; speedup is base time /
  /// row time, where one of them has no time row rate / base rate (> 1: the row is faster), and
  /// where the source prints a ratio that does not follow from its own rounded numbers, that ratio
  /// ("ratio_printed"). Where this baseline has no comparable number: null, and
  /// `why` says which field differs. A row of another algorithm matches if no row of the same one
  /// exists (the fastest counts); that is said. The launches of an id in one environment are
  /// brought to one number, or to none if one of them has none (core/result/launches.hpp).
  nlohmann::json match(const nlohmann::json& row, std::string* why = nullptr) const;

 private:
  void add(nlohmann::json row, std::string environment);

  std::string system_;
  std::vector<nlohmann::json> rows_;
  std::vector<std::string> environments_;  ///< environment_key of each row
  /// Benchmark and problem → the rows that have them, in their order: a report asks for each of its
  /// rows, and would else read the whole baseline each time.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> places_;
};

/// What a name means: itself where such a file or folder exists, else the file of the shipped
/// baseline of this name. InputError with the nearest name.
std::filesystem::path baseline_file(const std::string& file_or_name);

/// Names of the baselines that are shipped.
std::vector<std::string> baseline_names();

}  // namespace assay
