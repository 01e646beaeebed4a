#pragma once
// Checks of rows that a schema cannot express: that their numbers follow from each other.

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace assay {

/// True if the algorithm does fewer operations than a direct sum (Winograd, FFT). The rate of the
/// operations that it does is then unknown, unless the implementation reports their number.
bool saves_operations(const std::string& algorithm);

/// A row is marked ("exceeded") if it is faster than its ceiling by more than this part.
inline constexpr double ceiling_exceeded_above = 0.03;

/// Checks a row of `result`: recomputes time_s from samples_s, and rates, ceiling, baseline,
/// verification, id and environment from the fields on which they depend. If the result has another
/// version of the statistics (read_statistics()), the estimates in time_s are not recomputed.
/// InputError with the JSON pointer, the value that was found, and the expected one.
void check_row(const nlohmann::json& row, std::size_t index, const nlohmann::json& result,
               const std::string& file);

/// Checks the rows of the run's ceilings (/run/bracket), which belong to no row. InputError as in
/// check_row().
void check_run(const nlohmann::json& result, const std::string& file);

/// Checks all rows of a result together: no two have the same id, environment, launch and attempt,
/// and equal ids have equal settings. Several threads may use it.
class RowsTogether final {
 public:
  /// Adds a row. InputError as in check_row().
  void add(const nlohmann::json& row, std::size_t index, const std::string& file);

 private:
  std::mutex guard_;
  std::set<std::tuple<std::string, int, int, int>> keys_;
  std::unordered_map<std::string, nlohmann::json> first_;  ///< id → its first row's parameters
};

/// The version of the statistics in a result's "run", or in a journal's event "run"; 1 if it has
/// none, as in the oldest files.
int read_statistics(const nlohmann::json& run);

/// Throws InputError "FILE at /rows/INDEX" + `what`.
[[noreturn]] void refuse_row(const std::string& file, std::size_t index, const std::string& what);

}  // namespace assay
