#pragma once
// What decides what a run is: recorded in its journal, so that a resumed run is the same run.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/run/campaign.hpp"
#include "analysis/run/processes.hpp"

namespace assay {

struct RunPlan {
  nlohmann::json suite;
  std::string suite_name, suite_hash;
  CampaignOptions campaign;
  std::vector<Processes> processes;  ///< one for each shape of process group; set_processes
  /// What the command line sets of the timing, by flag without dashes; the rest is the suite's.
  std::map<std::string, nlohmann::json> timing;
  std::vector<std::string> baselines;
  nlohmann::json site{};           ///< --site's document; null: none
  std::string scale{};             ///< --scale of every case ("1/16"); "": the suite's
  std::string allocator{};         ///< --allocator of every case; "": the suite's
  std::string filter;              ///< only cases whose id or name has a match
  std::vector<std::string> ids;    ///< only these cases; empty: all
  std::filesystem::path programs;  ///< folder of the benchmarks' executables
  std::string command;             ///< the command line, for the record
  std::set<std::string> given;  ///< flags of the command line: what a resumed run does not recall
  /// Folders that were made for this run already, the deepest first: to be removed if it is
  /// refused.
  std::vector<std::filesystem::path> made{};
  bool ceilings = true;  ///< measure the machine's ceilings around the cases
  bool resume = false;
  bool allow_mixed = false;  ///< resume although hardware or software differ
};

/// Suite file and what follows from it. InputError if it is none.
RunPlan plan_of_suite(const std::string& suite);
/// The folder with the executables of a build or an installation: its bin/, or itself.
std::filesystem::path executable_folder_of(const std::filesystem::path& build);

/// What a caller lets be executed for a run of which a file tells.
struct Chosen {
  std::filesystem::path programs{};        ///< a build or an installation; empty: this one
  std::string advice{"name their build"};  ///< how a user lets others be used
  std::optional<std::string> launcher{};   ///< as --launcher; none: as the suite says
};
/// The plan of a run of which a result tells, to be done again on this machine; without folder.
/// Programs and launcher are the caller's. InputError if the result was not written by `assay run`,
/// or was made with others than those.
RunPlan plan_of_result(const nlohmann::json& result, const Chosen& chosen = {});

/// How the processes of the plan are started.
void set_processes(RunPlan& plan, std::vector<Processes> processes);

/// Flags of the timing, handed on to every benchmark.
inline constexpr const char* timing_flags[] = {"max-time", "precision-target", "min-samples",
                                               "reference-budget"};
/// The flags for the benchmarks (timing, scale), and the time limit of a case in seconds:
/// `timeout`, else the suite's timing.timeout, else 20 times the timed seconds and at least 60.
void set_timing(RunPlan& plan, std::optional<double> timeout);

/// The journal's event that announces this run, or that an interrupted one is taken up.
nlohmann::json announcement(const RunPlan& plan, bool resumed, const nlohmann::json& environment,
                            const std::vector<PlannedBenchmark>& benchmarks);
/// What the command line leaves open is as it was in the run that is resumed, but for the launcher:
/// no file chooses what is executed.
void recall(RunPlan& plan, const std::vector<nlohmann::json>& events);
/// What the journal says is done; refuses to go on with a run that was another one. InputError
/// names what differs.
Finished finished_of(const RunPlan& plan, const std::vector<nlohmann::json>& events);
/// InputError if a resumed run has other cases than it had (an edited problem list).
void check_cases(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks,
                 const std::vector<nlohmann::json>& events);
/// Rows of two machines, or of one before and after an update, make no one result: InputError
/// unless that is wanted. Parent is compared with parent, since a benchmark adds what its plugins
/// load.
void check_machine(const RunPlan& plan, const nlohmann::json& environment,
                   const std::vector<nlohmann::json>& events);

/// The executables and the cases that the plan asks for. InputError if there are none.
std::vector<PlannedBenchmark> planned_benchmarks(const RunPlan& plan);

}  // namespace assay
