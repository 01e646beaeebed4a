#pragma once
// What a schema cannot say of a row: that its numbers follow from each other.

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace assay {

/// Whether the algorithm does fewer operations than the direct sum that everybody quotes: its own
/// rate is unknown unless the implementation tells its operations.
bool saves_operations(const std::string& algorithm);

/// A row that is faster than its ceiling by more than this part is marked ("exceeded").
inline constexpr double ceiling_exceeded_above = 0.03;

/// Recomputes all of time_s from samples_s, and holds rates, ceiling, baseline, verification, id
/// and environment of a row of `result` against what they are made of. Of a result with another
/// version of the statistics (statistics_of) the estimates themselves are taken as they are.
/// InputError with the JSON pointer, what was found and what was expected.
void check_row(const nlohmann::json& row, std::size_t index, const nlohmann::json& result,
               const std::string& file);

/// What holds of the rows of a result together: no two of one id, environment, launch and attempt,
/// and equal settings under equal ids. May be used by several threads.
class RowsTogether final {
 public:
  /// InputError as check_row.
  void add(const nlohmann::json& row, std::size_t index, const std::string& file);

 private:
  std::mutex guard_;
  std::set<std::tuple<std::string, int, int, int>> keys_;
  std::unordered_map<std::string, nlohmann::json> first_;  ///< id → its first row's parameters
};

/// check_row of a row by itself, as a journal holds it: its schema, then all that follows from the
/// row alone (not ceiling and environment). `where` begins the message and names the row's place:
/// "journal.jsonl: line 7 at /row" gives "journal.jsonl: line 7 at /row/time_s/median: found …".
void check_row_alone(const nlohmann::json& row, const std::string& where, int statistics);

/// The version of the statistics that a result's "run", or a journal's event "run", names; those
/// before versions were named have 1.
int statistics_of(const nlohmann::json& run);

/// The version of what rows tell of themselves. From 2 on, each row that Assay measured says how
/// its id is made.
inline constexpr int row_form_version = 2;

/// The one that a result's "run", or a journal's event "run", names; without it: 1.
int row_form_of(const nlohmann::json& run);

/// InputError "FILE at /rows/INDEX" + `what`.
[[noreturn]] void refuse_row(const std::string& file, std::size_t index, const std::string& what);

}  // namespace assay
