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
#include "runner/run/opened_plugins.hpp"
#include "runner/run/result_file.hpp"
#include "runner/supervision/abandoned_attempt.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/hold_folder.hpp"
#include "runner/supervision/interrupted.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

bool names_a_run(const std::vector<json>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const json& event) { return event.value("event", "") == "run"; });
}

/// The events of the run that --out holds already, which only --resume may continue.
std::vector<json> earlier_events(const fs::path& folder, bool resume) {
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

/// Removes what make_folder has made, for a run that is refused: the folder itself, and those above
/// it that were not there and hold nothing else.
void remove_made(const fs::path& folder, const std::vector<fs::path>& missing) {
  std::error_code stays;
  if (fs::exists(folder / "journal.jsonl", stays)) return;  // never what another run has written
  if (!missing.empty()) fs::remove_all(folder, stays);
  for (std::size_t i = 1; i < missing.size(); ++i) fs::remove(missing[i], stays);
}

/// `folder` and those above it that do not exist, the deepest first; empty if it exists.
std::vector<fs::path> missing_folders(fs::path folder) {
  std::vector<fs::path> missing;
  std::error_code unknown;
  for (; folder.has_relative_path() && !fs::exists(folder, unknown); folder = folder.parent_path())
    missing.push_back(folder);
  return missing;
}

/// One plan on its way.
struct Side {
  explicit Side(RunPlan given)
      : plan(std::move(given)), missing(missing_folders(plan.campaign.folder)) {
    missing.insert(missing.end(), plan.made.begin(), plan.made.end());
  }
  RunPlan plan;
  std::vector<fs::path> missing;  ///< folders that were made for it
  std::vector<Baseline> baselines;
  std::unique_ptr<Campaign> campaign;
  CeilingPlan ceilings;
  json announcement;
};

/// The events of the journal. CaseError if it is not the one in which this run has begun: its rows
/// would be those of another run.
std::vector<json> own_events(const Side& side) {
  const fs::path file = side.plan.campaign.folder / "journal.jsonl";
  std::vector<json> events = fs::exists(file) ? read_run(file) : std::vector<json>();
  const auto own = std::find_if(events.begin(), events.end(), [&](const json& event) {
    return event.at("event") == side.announcement.at("event") &&
           event.at("id") == side.announcement.at("id");
  });
  if (own == events.end())
    throw CaseError(
        fmt::format("{} was replaced by another file during the run (its rows may be another "
                    "run's). Repeat the run in another folder.",
                    file.string()));
  return events;
}

void prepare(Side& side) {
  RunPlan& plan = side.plan;
  const fs::path& folder = plan.campaign.folder;
  const std::vector<json> events = earlier_events(folder, plan.resume);
  recall(plan, events);
  Finished finished = finished_of(plan, events);
  const json environment = capture_environment();
  check_machine(plan, environment, events);
  for (const std::string& name : plan.baselines) side.baselines.push_back(Baseline::load(name));
  const json accelerator =
      plan.site.is_object() ? plan.site.value("accelerator", json::object()) : json::object();
  preflight(plan.processes, accelerator.value("match", ""), executable_folder() / "assay",
            folder / "log" / "preflight");
  std::vector<PlannedBenchmark> benchmarks = planned_benchmarks(plan);
  check_cases(plan, benchmarks, events);
  if (plan.ceilings) side.ceilings = ceiling_plan(benchmarks, environment.at("hardware"));
  side.announcement = announcement(plan, names_a_run(events), environment, benchmarks);
  plan.campaign.opened = opened_plugins(benchmarks, plan.programs, events);
  side.campaign =
      std::make_unique<Campaign>(plan.campaign, std::move(benchmarks), std::move(finished));
}

/// The machine's ceilings, measured once for all sides: they are not the builds'. Every journal
/// gets them, between the rows that they are next to.
class Brackets {
 public:
  explicit Brackets(std::vector<Side>& sides)
      : sides_(sides),
        meter_(ceilings_of(sides), sides.front().plan.campaign, sides.front().plan.programs),
        wanted_(std::any_of(sides.begin(), sides.end(), [](const Side& side) {
          return side.plan.ceilings && !side.campaign->complete();
        })) {}
  void measure() {
    if (!wanted_) return;
    if (sides_.front().plan.campaign.talk != Talk::quiet)
      std::cerr << "assay run: measuring the machine's ceilings" << std::endl;
    Bracket event = meter_.measure();
    if (event.at("reason").is_string())
      std::cerr << "assay run: " << event.at("reason").get<std::string>() << std::endl;
    event["event"] = "bracket";
    for (const Side& side : sides_)
      if (side.plan.ceilings) Journal(side.plan.campaign.folder / "journal.jsonl").append(event);
  }
  void measure_if_due() {
    if (wanted_ && meter_.due()) measure();
  }

 private:
  static CeilingPlan ceilings_of(const std::vector<Side>& sides) {
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
  // The order of the sides changes from launch to launch: the second of two finds a warmer machine.
  constexpr int place_of_sides = 1000;
  for (int launch = 0; launch < options.launches; ++launch) {
    if (launch > 0) brackets.measure_if_due();
    try {
      for (const std::size_t i : random_order(sides.size(), options.seed, launch, place_of_sides))
        sides[i].campaign->run_round(launch);
    } catch (const OutOfTime&) {
      break;
    }
  }
  brackets.measure();
}

Unfinished unfinished(const std::vector<Side>& sides, const std::string& why) {
  const std::string folder = sides.front().plan.campaign.folder.string();
  return Unfinished(fmt::format(
      "{}. Finished rows are kept in {}/journal.jsonl. Continue with the same command{}.", why,
      folder, sides.front().plan.resume ? "" : fmt::format(" and --out {} --resume", folder)));
}

/// InputError if the schema is missing or unusable.
void require_schema(const std::string& name) { schema_errors(json::object(), name, ""); }

}  // namespace

std::vector<json> run_side_by_side(std::vector<RunPlan> plans) {
  // What writes the result at the end is asked for before anything is timed.
  for (const char* schema : {"result", "journal"}) require_schema(schema);
  std::vector<Side> sides;
  sides.reserve(plans.size());
  for (RunPlan& plan : plans) {
    sides.emplace_back(std::move(plan));
    make_folder(sides.back().plan.campaign.folder, sides.back().plan.resume);
  }
  prepare_parent();
  std::vector<std::vector<json>> events;  // by side
  try {
    try {
      for (Side& side : sides) prepare(side);
    } catch (const InputError&) {
      for (auto side = sides.rbegin(); side != sides.rend(); ++side)
        remove_made(side->plan.campaign.folder, side->missing);
      throw;
    }
    // Not before every side is known to be possible: a refused run leaves nothing behind.
    for (std::size_t i = 1; i < sides.size(); ++i) {
      auto& id = sides[i].announcement["id"].get_ref<std::string&>();
      id += fmt::format("-{}", i);  // begun in one second by one process
    }
    for (Side& side : sides) {
      before_run(side.plan.campaign.folder);
      Journal(side.plan.campaign.folder / "journal.jsonl").append(side.announcement);
    }
    run_rounds(sides);
    for (const Side& side : sides) events.push_back(own_events(side));
  } catch (const Interrupted& signal) {
    throw unfinished(sides, fmt::format("stopped by {}", strsignal(signal.signal)));
  } catch (const JournalLost& lost) {
    throw unfinished(sides, fmt::format("a benchmark cannot write its rows ({})", lost.what()));
  } catch (const std::system_error& error) {
    throw unfinished(sides, fmt::format("cannot go on ({})", error.what()));
  }
  std::vector<json> results;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const fs::path& folder = sides[i].plan.campaign.folder;
    results.push_back(write_result(events[i], folder / "journal.jsonl", folder / "result.json",
                                   sides[i].baselines, sides[i].campaign->left_out()));
  }
  return results;
}

}  // namespace assay
