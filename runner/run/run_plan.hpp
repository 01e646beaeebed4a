#pragma once
// The plan of a run: everything that determines it. It is recorded in the journal, so that a
// resumed run can be checked to be the same run.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/launch/processes.hpp"
#include "runner/launch/site.hpp"
#include "runner/run/campaign.hpp"
#include "runner/run/run_record.hpp"

namespace assay {

struct RunPlan {
  nlohmann::json suite;
  SuiteSettings suite_settings;  ///< of `suite`
  std::string suite_name, suite_hash;
  CampaignOptions campaign;
  std::vector<Processes> processes;  ///< one for each shape of process group; set by set_processes
  RunTiming timing{};                ///< of the command line; the suite sets the others
  std::vector<std::string> baselines;
  std::optional<Site> site{};      ///< of --site
  std::string scale{};             ///< --scale for every case ("1/16"); "": the suite's
  std::string allocator{};         ///< --allocator for every case; "": the suite's
  std::string filter;              ///< only cases whose id or name has a match
  std::vector<std::string> ids;    ///< only these cases; empty: all
  std::filesystem::path programs;  ///< folder of the benchmarks' executables
  std::string command;             ///< the command line, for the record
  std::set<std::string>
      given_flags;  ///< flags of the command line; recall() does not replace their values
  /// Folders that were created for this run, the deepest first. They are removed if the run is
  /// refused.
  std::vector<std::filesystem::path> new_folders{};
  bool ceilings = true;  ///< measure the machine's ceilings around the cases
  bool joint = false;    ///< only cases that need more than one process
  bool resume = false;
  bool allow_mixed = false;  ///< resume even if hardware or software differ
};

/// The plan for a suite, by its path or name. InputError if it is not a valid suite.
RunPlan plan_of_suite(const std::string& suite);

/// The programs and the launcher that a caller allows for a run that a result file describes.
struct AllowedPrograms {
  std::filesystem::path programs{};        ///< a build or an installation; empty: this program's
  std::string advice{"name their build"};  ///< for messages: how a user allows other programs
  std::optional<std::string> launcher{};   ///< as --launcher; empty: the default for the suite
};
/// A plan that repeats the run of a result on this machine; its folder is not set. The caller
/// chooses programs and launcher. InputError if the result was not written by `assay run`, or was
/// made with another launcher or other programs.
RunPlan plan_of_result(const RunResult& result, const AllowedPrograms& chosen = {});

void set_processes(RunPlan& plan, std::vector<Processes> processes);

/// Sets the flags for the benchmarks (timing, scale), and the time limit of a case in seconds:
/// `timeout`, else the suite's timing.timeout, else 20 times the maximum of timed seconds
/// (--max-time), at least 60.
void set_timing(RunPlan& plan, std::optional<double> timeout);

/// The header of a run that begins now.
RunHeader begin_header(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks);
/// Adopts the settings of the interrupted run that the command line does not give. It does not
/// adopt the launcher, because no file may choose what is executed.
void recall(RunPlan& plan, const RunRecord& earlier);
/// The finished cases of the interrupted run. InputError, naming the difference, if it is another
/// run.
FinishedCases check_finished(const RunPlan& plan, const RunRecord& earlier);
/// InputError if the cases of a resumed run have changed (an edited problem list).
void check_cases(const RunPlan& plan, const std::vector<PlannedBenchmark>& benchmarks,
                 const RunRecord& earlier);
/// InputError if hardware or software differ from those of the interrupted run, unless
/// plan.allow_mixed: a result must not mix two machines, or one machine before and after an update.
/// Compares the environments of the `assay run` processes, because those of benchmarks also contain
/// the libraries of their plugins.
void check_machine(const RunPlan& plan, const ResultEnvironment& environment,
                   const RunRecord& earlier);

/// The executables and cases of the plan. InputError if there are none.
std::vector<PlannedBenchmark> plan_benchmarks(const RunPlan& plan);

}  // namespace assay
