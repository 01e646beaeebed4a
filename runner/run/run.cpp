#include "runner/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/machine/environment.hpp"
#include "core/result/journal.hpp"
#include "core/result/schema.hpp"
#include "runner/ceilings/ceiling_bracket.hpp"
#include "runner/launch/preflight.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/run/benchmark_processes.hpp"
#include "runner/run/result_file.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// The record of the run in the folder of --out. Only --resume may continue that run.
RunRecord read_earlier_record(const fs::path& folder, bool resume) {
  const fs::path file = folder / "journal.jsonl";
  std::error_code unknown;  // of a pipe, which reading refuses
  if (!fs::exists(file) || (fs::file_size(file, unknown) == 0 && !unknown)) {
    if (fs::exists(folder / "result.json"))
      throw InputError(
          fmt::format("{} contains the result of a run without its journal, which cannot be "
                      "recreated. Choose another --out.",
                      folder.string()));
    return {};
  }
  if (!resume)
    throw InputError(
        fmt::format("{} already holds a run. Continue it with --resume, or choose another --out.",
                    folder.string()));
  return read_run(file);
}

void make_folder(const fs::path& folder, bool resume) {
  check_writable(folder / "result.json");
  hold_folder(folder, resume ? patience_with_earlier : std::chrono::seconds(0));
}

/// Removes the folder that make_folder has created for a run that is refused, and its parents that
/// did not exist before and contain nothing else.
void remove_made(const fs::path& folder, const std::vector<fs::path>& missing) {
  std::error_code stays;
  if (fs::exists(folder / "journal.jsonl", stays)) return;  // never the files of another run
  if (!missing.empty()) fs::remove_all(folder, stays);
  for (std::size_t i = 1; i < missing.size(); ++i) fs::remove(missing[i], stays);
}

/// `folder` and its parents that do not exist, the deepest first; empty if `folder` exists.
std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  std::error_code unknown;
  for (; folder.has_relative_path() && !fs::exists(folder, unknown); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

/// One plan in progress.
struct Side {
  explicit Side(RunPlan plan_of_side)
      : plan(std::move(plan_of_side)), missing(missing_folders(plan.campaign.folder)) {
    missing.insert(missing.end(), plan.new_folders.begin(), plan.new_folders.end());
  }
  RunPlan plan;
  std::vector<fs::path> missing;  ///< folders that were created for it
  std::vector<Baseline> baselines;
  std::unique_ptr<Campaign> campaign;
  CeilingPlan ceilings;
  bool resumed = false;  ///< the journal contains an earlier session
  RunHeader header;
  json environment;  ///< of this process
  RunRecord record;  ///< at the end
};

/// The record of the run. CaseError if the journal is not the one that this run has begun, because
/// its rows would be those of another run.
RunRecord own_record(const Side& side) {
  const fs::path file = side.plan.campaign.journal();
  RunRecord record = fs::exists(file) ? read_run(file) : RunRecord{};
  const bool own = std::ranges::any_of(record.sessions, [&](const RunRecord::Session& session) {
    return session.resumed == side.resumed && session.id == side.header.id;
  });
  if (!own)
    throw CaseError(
        fmt::format("{} was replaced by another file during the run (its rows may be another "
                    "run's). Repeat the run in another folder.",
                    file.string()));
  return record;
}

void prepare(Side& side) {
  RunPlan& plan = side.plan;
  const fs::path& folder = plan.campaign.folder;
  const RunRecord earlier = read_earlier_record(folder, plan.resume);
  recall(plan, earlier);
  FinishedCases finished = check_finished(plan, earlier);
  side.environment = capture_environment();
  const ResultEnvironment environment = side.environment;
  check_machine(plan, environment, earlier);
  for (const std::string& name : plan.baselines) side.baselines.push_back(Baseline::load(name));
  preflight(plan.processes, plan.site ? plan.site->accelerator.match : "",
            executable_folder() / "assay", folder / "log" / "preflight");
  std::vector<PlannedBenchmark> benchmarks = plan_benchmarks(plan);
  check_cases(plan, benchmarks, earlier);
  if (plan.ceilings) side.ceilings = ceiling_plan(benchmarks, environment.hardware);
  side.resumed = earlier.header.has_value();
  side.header = begin_header(plan, benchmarks);
  plan.campaign.opened = find_usable_plugins(benchmarks, plan.programs, earlier);
  side.campaign =
      std::make_unique<Campaign>(plan.campaign, std::move(benchmarks), std::move(finished));
}

/// The machine's ceilings, measured once for all sides, because they do not depend on the builds.
/// Every journal gets them, between the same rows.
class Brackets {
 public:
  explicit Brackets(std::vector<Side>& sides)
      : sides_(sides),
        meter_(plan_ceilings(sides), sides.front().plan.campaign, sides.front().plan.programs),
        wanted_(std::any_of(sides.begin(), sides.end(), [](const Side& side) {
          return side.plan.ceilings && !side.campaign->complete();
        })) {}
  void measure() {
    if (!wanted_) return;
    const CampaignOptions& options = sides_.front().plan.campaign;
    if (options.talk != Verbosity::quiet)
      std::cerr << (options.label.empty()
                        ? "assay run:"
                        : "[" + options.label.substr(0, options.label.find(' ')) + "]")
                << " measuring the machine's ceilings" << std::endl;
    const Bracket bracket = meter_.measure();
    if (!bracket.reason.empty()) std::cerr << "assay run: " << bracket.reason << std::endl;
    json event = bracket;
    event["event"] = "bracket";
    for (const Side& side : sides_)
      if (side.plan.ceilings) Journal(side.plan.campaign.journal()).append(event);
  }
  void measure_if_due() {
    if (wanted_ && meter_.due()) measure();
  }

 private:
  static CeilingPlan plan_ceilings(const std::vector<Side>& sides) {
    CeilingPlan all;
    for (const Side& side : sides) add(all, side.ceilings);
    return all;
  }
  std::vector<Side>& sides_;
  CeilingMeter meter_;
  bool wanted_;
};

void run_rounds(std::vector<Side>& sides) {
  const CampaignOptions& options = sides.front().plan.campaign;
  Brackets brackets(sides);
  brackets.measure();
  // The order of the sides changes from launch to launch, because the second side finds a warmer
  // machine.
  constexpr int place_of_sides = 1000;
  for (int launch = 0; launch < options.launches; ++launch) {
    if (launch > 0) brackets.measure_if_due();
    try {
      for (const std::size_t i :
           draw_random_order(sides.size(), options.seed, launch, place_of_sides))
        sides[i].campaign->run_round(launch);
    } catch (const OutOfTime&) {
      break;
    }
  }
  brackets.measure();
}

/// True if the journal of a side may have a row, even one that does not count, because the process
/// wrote it while it was being ended.
bool has_rows(const Side& side) {
  const fs::path journal = side.plan.campaign.journal();
  if (!fs::exists(journal)) return false;
  try {
    own_record(side);  // it is this run's
    return side.resumed || std::ranges::any_of(read_journal(journal), [](const json& event) {
             return event.at("event") == "row";
           });
  } catch (const std::exception&) {  // it is damaged, or another run's
    return true;
  }
}

UnfinishedRun make_unfinished(const std::vector<Side>& sides, const std::string& why) {
  const std::string folder = sides.front().plan.campaign.folder.string();
  if (std::ranges::none_of(sides, has_rows)) {
    // The same command will start anew, so nothing of this run is left behind.
    std::error_code stays;
    for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
      fs::remove(side->plan.campaign.journal(), stays);
      remove_made(side->plan.campaign.folder, side->missing);
    }
    return UnfinishedRun(why + ". No row was finished, and nothing is kept");
  }
  return UnfinishedRun(fmt::format(
      "{}. Finished rows are kept in {}/journal.jsonl. Continue with the same command{}.", why,
      folder, sides.front().plan.resume ? "" : fmt::format(" and --out {} --resume", folder)));
}

/// InputError if the schema is missing or unusable.
void require_schema(const std::string& name) { find_schema_errors(json::object(), name, ""); }

}  // namespace

std::vector<RunResult> run_side_by_side(std::vector<RunPlan> plans) {
  // The schemas for writing the result must be available before anything is timed.
  for (const char* schema : {"result", "journal"}) require_schema(schema);
  std::vector<Side> sides;
  sides.reserve(plans.size());
  for (RunPlan& plan : plans) {
    sides.emplace_back(std::move(plan));
    make_folder(sides.back().plan.campaign.folder, sides.back().plan.resume);
  }
  prepare_parent();
  try {
    try {
      for (Side& side : sides) prepare(side);
    } catch (const InputError&) {
      for (auto side = sides.rbegin(); side != sides.rend(); ++side)
        remove_made(side->plan.campaign.folder, side->missing);
      throw;
    }
    // Done only after every side is known to be possible, so that a refused run leaves nothing
    // behind.
    for (std::size_t i = 1; i < sides.size(); ++i)
      sides[i].header.id += fmt::format("-{}", i);  // one process begins them in the same second
    for (Side& side : sides) {
      prepare_folder_of_run(side.plan.campaign.folder);
      Journal(side.plan.campaign.journal())
          .append(begin_event(side.header, side.resumed, side.environment));
    }
    run_rounds(sides);
    for (Side& side : sides) side.record = own_record(side);
  } catch (const Interruption& signal) {
    throw make_unfinished(sides, fmt::format("stopped by {}", strsignal(signal.signal)));
  } catch (const JournalLost& lost) {
    throw make_unfinished(sides,
                          fmt::format("a benchmark cannot write its rows ({})", lost.what()));
  } catch (const std::system_error& error) {
    throw make_unfinished(sides, fmt::format("cannot continue ({})", error.what()));
  }
  std::vector<RunResult> results;
  for (Side& side : sides)
    results.push_back(write_run_result(std::move(side.record), side.plan.campaign.journal(),
                                       side.plan.campaign.folder / "result.json", side.baselines,
                                       side.campaign->left_out()));
  return results;
}

RunPlan plan_of_compared(const RunResult& result, const AllowedPrograms& chosen) {
  static const ResultEnvironment here = capture_environment();
  for (const ResultEnvironment& environment : result.environments)
    if (environment.hashes.hardware != here.hashes.hardware)
      throw InputError(fmt::format(
          "the run {} cannot be repeated here (it ran on other hardware, host {}). Run the flagged "
          "cases there: `assay compare --flagged FILE`, then `assay run SUITE --cases FILE`.",
          nlohmann::json(result.run.id).dump(), environment.host));
  return plan_of_result(result, chosen);
}

std::vector<RunResult> run_again(std::vector<RepeatedSide> sides, int launches,
                                 const std::filesystem::path& folder, const std::string& command) {
  std::vector<RunPlan> plans;
  for (RepeatedSide& side : sides) {
    RunPlan plan = std::move(side.plan);
    plan.campaign.folder = std::filesystem::absolute(folder / side.name).lexically_normal();
    plan.campaign.launches = launches;
    plan.campaign.label = side.name + " ";
    plan.ids = std::move(side.ids);
    plan.filter.clear();  // the ids already select the cases
    plan.baselines.clear();
    // Never adopted from an earlier call with this folder.
    plan.given_flags = {"cases", "launches", "filter", "baseline", "no-ceilings"};
    plan.command = command;
    plan.resume = true;
    plan.ceilings = false;  // the verdicts are about times
    plans.push_back(std::move(plan));
  }
  return run_side_by_side(std::move(plans));
}

}  // namespace assay
