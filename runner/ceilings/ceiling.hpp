#pragma once
// The ceiling of a row: the least time that the machine's peak arithmetic and bandwidth allow. It
// comes from rows of assay-stream that were measured before and after the row (docs/method.md).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/run_result.hpp"

namespace assay {

/// One measurement of the machine's ceilings. Events of a journal and a result's run.bracket have
/// its fields.
struct Bracket {
  std::string started{};
  double seconds = 0;
  std::string reason{};     ///< why there are no rows; "": there are rows
  std::vector<Row> rows{};  ///< of benchmark stream, without samples; "measured_on" in `rest`
};
void to_json(nlohmann::json& document, const Bracket& bracket);
void from_json(const nlohmann::json& document, Bracket& bracket);

/// Sets the ceiling of a row, or its reason. `around`: indices into `brackets` of those that were
/// measured before and after the row. `otherwise`: the reason if `around` is empty. A row that is
/// at least twice as fast as an undisturbed ceiling becomes `failed` (core/result/impossible.hpp).
void add_ceiling(Row& row, const std::vector<Bracket>& brackets,
                 const std::vector<std::size_t>& around, const ResultEnvironment& environment,
                 const std::string& otherwise);

}  // namespace assay
