#pragma once
// `assay run SUITE --ensemble N`: members are runs of their own below --out, as many at once as fit
// the nodes of the allocation.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/ensemble/ensemble.hpp"
#include "core/program/command.hpp"
#include "runner/ensemble/search_space.hpp"

namespace assay {

/// InputError for --search and --factor without --ensemble, and for flags that an ensemble does not
/// have.
void refuse_beside_ensemble(const Arguments& arguments);

/// Everything that determines an ensemble.
struct EnsemblePlan {
  std::string suite_file;
  nlohmann::json suite;
  SearchGroup group;
  std::uint64_t seed = 1;
  std::vector<std::map<std::string, std::string>> given_draws{};  ///< as they were drawn
  Ensemble ensemble{};  ///< its draws are canonical; without slots, runs and summary
  std::vector<std::int64_t> budgets{};
};
/// InputError for an invalid suite, number, name or value.
EnsemblePlan ensemble_plan(const Arguments& arguments);

/// Trains the members and writes OUT/result.json. Prints the ranking. Returns the exit code: that
/// of the rows; 6 if no time was left for a member; 7 if one has left no result.
int run_ensemble(const Arguments& arguments);

/// Runs a suite.
using RunOfMember = std::function<int(const Arguments&)>;
/// The process of one member: bound to its slot, without the environment variables of the launcher.
int run_as_member(Arguments arguments, const RunOfMember& run);

/// The rows of the members' results in one result.
class MemberResults {
 public:
  void add(int member, RunResult result);
  const std::vector<Row>& rows() const { return all_.rows; }
  /// With the head of a run, the ensemble, and the name of the system ("": the members' own).
  /// Writes it to `file`, after all checks of a reader.
  RunResult write(RunHeader header, const Ensemble& ensemble, const std::string& system,
                  const std::filesystem::path& file);

 private:
  RunResult all_;
};

}  // namespace assay
