#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/message.hpp"
#include "core/base/paths.hpp"
#include "core/base/signal_note.hpp"
#include "core/base/standard_streams.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/launched.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/measure/run_case.hpp"
#include "core/measure/shared_contention.hpp"
#include "core/program/allocator.hpp"
#include "core/program/ceiling_probe.hpp"
#include "core/program/input_faults.hpp"
#include "core/program/launched_ranks.hpp"
#include "core/program/launches.hpp"
#include "core/program/options.hpp"
#include "core/program/print_row.hpp"
#include "core/program/process_journal.hpp"
#include "core/program/program_files.hpp"
#include "core/program/rank_locations.hpp"
#include "core/program/selected_cases.hpp"
#include "core/program/suite.hpp"
#include "core/result/baseline.hpp"
#include "core/result/impossible.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/row_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(argv[i]);
  return line;
}

/// Opens the library of a backend that settings select, before the environment is reported. If it
/// cannot be opened, the rows give the reason.
void select_library(Backend& backend, const Options& options) {
  if (!options.settings.contains("backend")) return;  // a transport, whose device needs its ranks
  try {
    backend.device(options);
  } catch (const CaseError&) {
  }
}

/// The environment of all hosts, with the version of every plugin that the cases name or may
/// choose.
json record_environment(const Benchmark& benchmark, const std::vector<Case>& cases,
                        Plugins& plugins, Communicator& ranks) {
  std::map<std::string, Options> first;  // of each plugin
  for (const Dimension& axis : all_dimensions(benchmark))
    for (const Case& selected : cases)
      if (const auto plugin = selected.settings.find(axis.name);
          axis.traits.plugin && plugin != selected.settings.end())
        first.try_emplace(plugin->second, Options{selected.settings});
  for (const Case& selected : cases)
    for (const std::string& plugin : benchmark.candidates(selected))
      first.try_emplace(plugin, Options{selected.settings});
  json environment = capture_environment();
  const LoadedAllocator allocator = find_loaded_allocator();
  add_software(environment, "allocator", {{"name", allocator.name}, {"file", allocator.file}});
  for (const auto& [name, options] : first) {
    const Result<Backend*> backend = plugins.open(name);
    const auto* const usable = std::get_if<Backend*>(&backend);
    if (usable == nullptr) continue;
    select_library(**usable, options);
    add_software(environment, name, (*usable)->software());
  }
  add_binaries(environment);
  add_ranks(environment, ranks);
  return environment;
}

/// Runs `body` on rank 0 for all ranks. An InputError there is thrown on every rank.
template <class Body>
void on_rank_0(Communicator& ranks, const Body& body) {
  std::string problem;
  try {
    if (ranks.rank() == 0) body();
  } catch (const InputError& error) {
    problem = error.what();
  }
  problem = ranks.allgather(problem).front();
  if (!problem.empty()) throw InputError(problem);
}

/// A rank under `assay run` reports the signal that ends it. The row can then name the ranks that
/// reported no signal.
std::optional<SignalNote> last_note(const RunRequest& request, const Communicator& ranks) {
  if (request.journal.empty() || ranks.size() == 1) return std::nullopt;
  return std::optional<SignalNote>(std::in_place, fmt::format("rank {} on {}: {}\n", ranks.rank(),
                                                              ranks.host(), ended_by_signal));
}

/// True if --quiet still reports the row.
bool is_wrong(const Row& row) { return !row.is_ok() && row.status != "unsupported"; }

/// CaseError for a plugin that cannot be opened any more, but could be earlier in the run. The case
/// is then failed, not unsupported, and a resumed run repeats it.
void expect_opened(const Benchmark& benchmark, const Case& selected, Plugins& plugins,
                   const std::vector<std::string>& opened) {
  for (const std::string& name : list_plugins(benchmark, selected.settings)) {
    if (std::find(opened.begin(), opened.end(), name) == opened.end()) continue;
    const Result<Backend*> backend = plugins.open(name);
    if (const auto* const refusal = std::get_if<Unsupported>(&backend))
      throw CaseError(fmt::format(
          "{} was lost during the run ({}). Restore what it had when the run was planned, and "
          "repeat the case with --resume.",
          name, refusal->reason));
  }
}

/// Prepares nothing on any rank if one rank has another allocator than the case names or has lost a
/// plugin: the other ranks would wait for it.
Result<std::unique_ptr<Workload>> prepare_workload(const Benchmark& benchmark, const Case& selected,
                                                   CaseContext& context,
                                                   const std::vector<std::string>& opened) {
  throw_on_all(context.ranks, [&] { expect_opened(benchmark, selected, context.plugins, opened); });
  const char* const preload = std::getenv("LD_PRELOAD");
  std::string why;
  throw_on_all(context.ranks, [&] {
    if (auto refusal = allocator_refusal(selected.settings, find_loaded_allocator(),
                                         preload == nullptr ? "" : preload))
      why = std::move(refusal->reason);
  });
  if (why = find_fault_of_any(why, context.ranks); !why.empty()) return Unsupported{std::move(why)};
  return benchmark.prepare(selected, context);
}

/// The baselines that the command line names. Cases from the command line that name no baseline
/// have those of the shipped suite that bears the benchmark's name.
std::vector<Baseline> load_baselines(const std::string& benchmark, const RunRequest& request) {
  std::vector<std::string> names = request.baselines;
  if (names.empty() && request.suite.empty() && request.plan.empty()) {
    const std::filesystem::path file = data_folder("suites") / (benchmark + ".json");
    if (std::filesystem::exists(file))
      names = read_suite(file).value("baseline", std::vector<std::string>{});
  }
  std::vector<Baseline> baselines;
  for (const std::string& name : names) baselines.push_back(Baseline::load(name));
  return baselines;
}

/// The row as printed: with all baselines that have its problem.
Row with_all_baselines(Row row, const std::vector<Baseline>& baselines) {
  if (!row.baseline) return row;
  for (const Baseline& baseline : baselines)
    if (auto match = baseline.match(row); match && match->system != row.baseline->system)
      row.further_baselines.push_back(std::move(*match));
  return row;
}

/// Revokes a row that readers would refuse, or whose samples differ from those that were taken.
void expect_consistent(Row& row, const Outcome& outcome) {
  if (!row.is_ok()) return;
  try {
    if (row.samples_s != outcome.timing->samples)
      throw InputError("/samples_s: these are not the samples that were taken.");
    check_numbers(row, "", statistics_version);
  } catch (const std::exception& error) {  // also thrown for a missing field
    take_back(row, fmt::format("the row contradicts itself: {} Report it.", error.what()));
  }
}

void tell_mixed(const Benchmark& benchmark, const std::string& mixed) {
  std::cerr << fmt::format(
      "assay-{}: mixed: the hosts have loaded different builds ({}). The rows are results of no "
      "build: install the same one on all hosts, and repeat them.\n",
      benchmark.name(), mixed);
}

/// Measures the cases of a process, one after the other, and shows their rows.
class CaseLoop final {
 public:
  CaseLoop(Communicator& ranks, const Benchmark& benchmark, const RunRequest& request,
           Plugins& plugins, const std::vector<Baseline>& baselines, ProcessJournal& journal)
      : ranks_(ranks),
        benchmark_(benchmark),
        request_(request),
        baselines_(baselines),
        journal_(journal),
        context_{plugins, ranks, request.seed, request.reference_budget, ranks_here(ranks)},
        probe_(plugins),
        speaks_(ranks.rank() == 0) {}

  std::vector<Row> measure(const std::vector<Case>& cases) {
    std::vector<Row> rows;
    for (const Case& selected : cases) {
      journal_.note("begin", {{"id", selected.id}, {"started", format_utc_now()}});
      if (speaks_ && request_.talk == Verbosity::verbose)
        tell(fmt::format("case {} of {}: {}", rows.size() + 1, cases.size(), selected.id));
      Row row = make(selected);
      journal_.append({{"event", "row"}, {"row", row}});
      if (speaks_) show(row);
      rows.push_back(std::move(row));
    }
    if (speaks_ && !request_.google_benchmark) std::cout << describe_marks(printed_) << std::flush;
    return rows;
  }

 private:
  Row make(const Case& selected) {
    const std::shared_ptr<const Problem> problem = benchmark_.problem(selected);
    Outcome outcome = run_case(
        [&] { return prepare_workload(benchmark_, selected, context_, request_.opened); }, ranks_,
        request_.timing, problem == nullptr ? std::map<std::string, double>{} : problem->amounts());
    if (outcome.timing) share(outcome.timing->contention, ranks_);  // on all ranks or on none
    // Printed before the row is synced, because the other ranks are already in the next case and
    // may print messages.
    if (!request_.plan.empty() && speaks_)
      std::cerr << "end of " << selected.id << end_of_case << std::endl;
    Row row = make_row(benchmark_.name(), selected, problem.get(), outcome, 0, request_.launch,
                       request_.attempt, ranks_.size(), ranks_.nodes());
    if (ranks_.size() > 1)
      row.problem.shared_by = benchmark_.ranks_share(selected) ? ranks_.size() : 1;
    judge(row, outcome);
    // `assay run` (which gives a plan) judges rows by its own measurements around the cases.
    if (request_.plan.empty() && ranks_.size() == 1) probe_.judge(row);
    add_baseline(row, baselines_);
    if (request_.baselines.empty()) row.baseline_reason.clear();  // none was requested
    return row;
  }

  /// Only rank 0's row is written. The other ranks agree with it, so that all exit codes are equal.
  void judge(Row& row, const Outcome& outcome) {
    if (speaks_) expect_consistent(row, outcome);
    const bool was_ok = outcome.status == "ok";
    const double failed = ranks_.broadcast(was_ok && !row.is_ok() ? 1.0 : 0.0);
    if (failed > 0 && row.is_ok())
      take_back(row, "the row of rank 0 contradicts itself. Report it.");
  }

  void show(const Row& row) {
    if (!request_.google_benchmark && (request_.talk != Verbosity::quiet || is_wrong(row))) {
      print_row(with_all_baselines(row, baselines_), benchmark_.row_label(row));
      printed_.push_back(row);
    }
    if (request_.talk == Verbosity::verbose) tell(row_details(row));
  }

  void tell(const std::string& text) const {
    if (!text.empty()) std::cerr << "assay-" << benchmark_.name() << ": " << text << std::endl;
  }

  Communicator& ranks_;
  const Benchmark& benchmark_;
  const RunRequest& request_;
  const std::vector<Baseline>& baselines_;
  ProcessJournal& journal_;
  CaseContext context_;
  CeilingProbe probe_;
  const bool speaks_;
  std::vector<Row> printed_;
};

int run_on(Communicator& ranks, const Benchmark& benchmark, RunRequest& request,
           const std::string& command, Plugins& plugins) {
  const bool speaks = ranks.rank() == 0;  // one rank prints, writes and keeps the journal for all
  const std::vector<Case> all = select_cases(
      benchmark, request, plugins, {ranks.size(), ranks.nodes(), request.list ? nullptr : &ranks});
  const std::vector<Case> cases = filter_cases(request, plan_cases(request, all));
  expect_same_cases(ranks, cases, request);
  if (request.list) {
    if (speaks) print_cases(benchmark, cases, request);
    return 0;
  }
  std::vector<Baseline> baselines;
  ProcessJournal journal(benchmark.name(), request);
  on_rank_0(ranks, [&] {
    // Check all conditions that would make numbers unusable before anything is measured.
    check_out(benchmark, request);
    baselines = load_baselines(benchmark.name(), request);
    journal.open();
  });

  const std::string started = format_utc_now();
  // The environment covers all cases, not only the planned ones: a process that repeats a part of a
  // suite must load and report the same libraries as the first process.
  const json environment =
      record_environment(benchmark, of_such_a_process(all, cases), plugins, ranks);
  const std::optional<SignalNote> note_of_end = last_note(request, ranks);
  // Records the process id of each rank.
  const std::vector<std::string> processes = ranks.allgather(std::to_string(getpid()));
  const RunHeader header = own_header(benchmark, request, command, started);
  journal.begin(header, environment, processes);
  const std::vector<Row> rows =
      CaseLoop(ranks, benchmark, request, plugins, baselines, journal).measure(cases);
  const json after = capture_volatile();  // shows, beside the state before, effects of the run
  journal.note("end", {{"benchmark", benchmark.name()}, {"volatile", after}});

  ExitCode code = exit_code(rows);
  // `assay run` (which gives a plan) judges all launches together.
  const std::string mixed = request.plan.empty() ? describe_mixed_binaries(environment) : "";
  if (speaks && !mixed.empty()) tell_mixed(benchmark, mixed);
  if (ranks.broadcast(mixed.empty() ? 0 : 1) > 0) code = find_gravest(code, ExitCode::incomparable);
  if (speaks && !request.out.empty()) {
    RunResult result = make_result(header);
    result.environments.push_back(environment.get<ResultEnvironment>());
    result.environments[0].volatile_after = after;
    result.rows = rows;
    write_result(std::move(result), request);
    std::error_code stays;
    if (const auto file = own_journal(request)) std::filesystem::remove(*file, stays);
  }
  if (speaks) write_google_benchmark("assay-" + benchmark.name(), rows, request);
  return static_cast<int>(code);
}

int run(const Benchmark& benchmark, RunRequest& request, const std::string& command) {
  Plugins plugins;
  const std::unique_ptr<Communicator> ranks =
      request.all_ranks ? connect_launched_ranks(plugins) : benchmark.connect(plugins);
  // If a launcher started several processes of a benchmark that uses one, only one measures: the
  // others would disturb it.
  if (ranks->size() == 1 && read_launch_info().rank > 0) return 0;
  if (ranks->size() == 1) return run_on(*ranks, benchmark, request, command, plugins);
  InputFaults faults(*ranks);
  try {
    return run_on(*ranks, benchmark, request, command, plugins);
  } catch (const InputError& error) {
    faults.tell("assay-" + benchmark.name(), message_text(error.what()));
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    // This rank cannot continue, and the other ranks would wait for it for ever.
    ranks->abort("assay-" + benchmark.name() + ": " + error.what(), ExitCode::failed);
    throw;
  }
}

}  // namespace

int benchmark_main(const Benchmark& benchmark, int argc, const char* const* argv) {
  return run_guarded("assay-" + benchmark.name(), [&] {
    int exit = -1;
    RunRequest request;
    try {
      request = parse_benchmark_options(benchmark, argc, argv, exit);
      expect_launches_possible(request);
    } catch (const InputError&) {
      if (read_launch_info().rank == 0) throw;
      // Rank 0 prints the error. A launcher ends all processes when one has failed, so wait until
      // rank 0 has printed.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      return static_cast<int>(ExitCode::usage);
    }
    if (exit >= 0) return exit;
    if (!request.out.empty() || !request.journal.empty()) survive_leaving_reader();
    const std::string command = command_line(argc, argv);
    if (request.launches > 1)
      return run_launches(benchmark, request, launch_arguments(benchmark, argc, argv), command);
    return run(benchmark, request, command);
  });
}

}  // namespace assay
