#pragma once
// `assay run SUITE --ensemble N`: each member is a run in its own folder below --out. As many run
// at once as fit the nodes of the allocation.

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
/// support.
void refuse_beside_ensemble(const Arguments& arguments);

/// Everything that determines an ensemble.
struct EnsemblePlan {
  std::string suite_file;
  nlohmann::json suite;
  SearchGroup group;
  std::uint64_t seed = 1;
  std::vector<std::map<std::string, std::string>> given_draws{};  ///< as they were drawn
  Ensemble ensemble{};  ///< its draws are canonical; it has no slots, runs and summary
  std::vector<std::int64_t> budgets{};
};
/// InputError for an invalid suite, number, name or value.
EnsemblePlan ensemble_plan(const Arguments& arguments);

/// Trains the members and writes OUT/result.json. Prints the ranking. Returns the exit code of the
/// rows, or 6 if no time was left for a member, or 7 if a member has left no result.
int run_ensemble(const Arguments& arguments);

/// Runs a suite.
using RunOfMember = std::function<int(const Arguments&)>;
/// The process of one member. It is bound to its slot, and the environment variables of the
/// launcher are removed.
int run_as_member(Arguments arguments, const RunOfMember& run);

/// The rows of the members' results in one result.
class MemberResults {
 public:
  void add(int member, RunResult result);
  const std::vector<Row>& rows() const { return all_.rows; }
  /// Adds the head of a run, the ensemble, and the name of the system ("": that of the members).
  /// Writes the result to `file`, after all checks of a reader.
  RunResult write(RunHeader header, const Ensemble& ensemble, const std::string& system,
                  const std::filesystem::path& file);

 private:
  RunResult all_;
};

}  // namespace assay
