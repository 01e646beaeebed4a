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
#include "core/base/hash.hpp"
#include "core/base/paths.hpp"
#include "core/base/signal_note.hpp"
#include "core/base/standard_streams.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/launched.hpp"
#include "core/measure/run_case.hpp"
#include "core/measure/shared_contention.hpp"
#include "core/program/allocator.hpp"
#include "core/program/ceiling_probe.hpp"
#include "core/program/input_faults.hpp"
#include "core/program/launched_ranks.hpp"
#include "core/program/launches.hpp"
#include "core/program/options.hpp"
#include "core/program/print_row.hpp"
#include "core/program/program_files.hpp"
#include "core/program/rank_locations.hpp"
#include "core/program/row_details.hpp"
#include "core/program/suite.hpp"
#include "core/result/baseline.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Rows that were measured with other settings than the run's first ones must not stand under its
/// hash.
void expect_unchanged(const std::filesystem::path& suite, const std::string& kind,
                      const json& content, const std::string& hash) {
  if (hash.empty() || content_hash(kind, content) == hash) return;
  throw InputError(fmt::format(
      "{} has changed since the run began ({}). Put it back and resume the run, or start another "
      "one.",
      suite.string(),
      kind == "suite" ? "its content has another hash"
                      : "its cases are others: a problem list that it names was edited"));
}

/// The cases that the command line or the suite asks for.
std::vector<Case> selected_cases(const Benchmark& benchmark, RunRequest& request, Plugins& plugins,
                                 const RankCount& started) {
  std::vector<Case> cases;
  if (request.suite.empty()) {
    cases = expand(benchmark, request.chosen, plugins, request.required, started, Unused::refused);
  } else {
    const std::filesystem::path file = find_suite(request.suite);
    const json suite = read_suite(file);
    expect_unchanged(file, "suite", suite, request.suite_hash);
    cases = expand_suite(benchmark, suite, file.string(), plugins, started, request.chosen);
    // Of the problem lists that the suite names, too.
    if (!request.cases_hash.empty())
      expect_unchanged(file, "cases", case_list(benchmark, cases), request.cases_hash);
    const json timing = suite.value("timing", json::object());
    if (!request.max_time_given)
      request.timing.max_time = timing.value("max_time", request.timing.max_time);
    if (!request.precision_target_given)
      request.timing.precision_target =
          timing.value("precision_target", request.timing.precision_target);
    if (!request.min_samples_given)
      request.timing.min_samples = timing.value("min_samples", request.timing.min_samples);
    if (request.required)
      for (Case& selected : cases) selected.required = true;
  }
  return cases;
}

/// With a plan, only those and in its order.
std::vector<Case> planned_cases(const RunRequest& request, std::vector<Case> cases) {
  if (request.plan.empty()) return cases;
  std::vector<Case> planned;
  for (const json& id : read_json(request.plan)) {
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const Case& selected) { return selected.id == id; });
    if (found == cases.end())
      throw InputError(request.plan + ": no case '" + id.dump() + "' in suite '" + request.suite +
                       "'. Plan and suite differ.");
    planned.push_back(*found);
  }
  return planned;
}

void print_list(const Benchmark& benchmark, const std::vector<Case>& cases, bool as_json) {
  if (as_json) {
    std::cout << case_list(benchmark, cases).dump(1) << '\n';
    return;
  }
  for (const Case& selected : cases)
    std::cout << selected.id << (selected.names.empty() ? "" : "  " + join(selected.names, ","))
              << '\n';
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(argv[i]);
  return line;
}

/// Settings may say which library a backend opens: it is opened before the environment is told.
/// Where it cannot be had, the rows say why.
void select_library(Backend& backend, const Options& options) {
  if (!options.settings.contains("backend")) return;  // a transport, whose device comes with ranks
  try {
    backend.device(options);
  } catch (const CaseError&) {
  }
}

/// The environment with the versions of every plugin that the cases name, and of all hosts.
json environment_of(const Benchmark& benchmark, const std::vector<Case>& cases, Plugins& plugins,
                    Communicator& ranks) {
  std::map<std::string, Options> first;  // of each plugin
  for (const Dimension& axis : all_dimensions(benchmark))
    for (const Case& selected : cases)
      if (const auto plugin = selected.settings.find(axis.name);
          axis.plugin && plugin != selected.settings.end())
        first.try_emplace(plugin->second, Options{selected.settings});
  json environment = capture_environment();
  const LoadedAllocator allocator = loaded_allocator();
  add_software(environment, "allocator", {{"name", allocator.name}, {"file", allocator.file}});
  for (const auto& [name, options] : first) {
    const Result<Backend*> backend = plugins.open(name);
    const auto* const usable = std::get_if<Backend*>(&backend);
    if (usable == nullptr) continue;
    select_library(**usable, options);
    add_software(environment, name, (*usable)->software());
  }
  add_ranks(environment, ranks);
  return environment;
}

/// What rank 0 alone does for all; an error in the input that it finds is everybody's.
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

/// Ranks that were started with different arguments would call a collective with different sizes.
void expect_same_cases(Communicator& ranks, const std::vector<Case>& cases) {
  json ids = json::array();
  for (const Case& selected : cases) ids.push_back(selected.id);
  const std::vector<std::string> all = ranks.allgather(content_hash("cases", ids));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all.front())
      throw InputError(
          fmt::format("rank {} was given other cases than rank 0 (their ids differ). Start all "
                      "ranks with the same arguments.",
                      rank));
}

std::optional<std::filesystem::path> journal_of(const RunRequest& request) {
  if (!request.journal.empty()) return request.journal;
  return own_journal(request);
}

/// What a rank reports when a signal ends it: under `assay run`, that it was
/// there to be ended, so that a row can name those that were not; else where the rows are.
std::optional<SignalNote> last_note(const Benchmark& benchmark, const RunRequest& request,
                                    const Communicator& ranks) {
  if (!request.journal.empty()) {
    if (ranks.size() == 1) return std::nullopt;
    return std::optional<SignalNote>(std::in_place, fmt::format("rank {} on {}: {}\n", ranks.rank(),
                                                                ranks.host(), ended_by_signal));
  }
  const auto file = own_journal(request);
  if (!file || ranks.rank() != 0) return std::nullopt;
  return std::optional<SignalNote>(std::in_place,
                                   recovery_note("assay-" + benchmark.name(), *file));
}

/// What --quiet still reports.
bool is_wrong(const json& row) {
  return row.at("status") != "ok" && row.at("status") != "unsupported";
}

/// The cases of `all` that a process of `cases` could run as well (Dimension::one_per_process).
std::vector<Case> of_such_a_process(const std::vector<Case>& all, const std::vector<Case>& cases) {
  std::vector<Case> found;
  for (const Case& each : all) {
    const bool fits = std::all_of(
        each.one_per_process.begin(), each.one_per_process.end(), [&](const std::string& name) {
          return cases.empty() || each.settings.at(name) == cases.front().settings.at(name);
        });
    if (fits) found.push_back(each);
  }
  return found;
}

/// Nothing is prepared in a process that has another allocator than the case says.
Result<std::unique_ptr<Workload>> prepared(const Benchmark& benchmark, const Case& selected,
                                           CaseContext& context) {
  const char* const preload = std::getenv("LD_PRELOAD");
  if (auto refusal = allocator_refusal(selected.settings, loaded_allocator(),
                                       preload == nullptr ? "" : preload))
    return std::move(*refusal);
  return benchmark.prepare(selected, context);
}

/// Of cases from the command line: the baselines of the shipped suite that bears the benchmark's
/// name.
std::vector<std::string> usual_baselines(const std::string& benchmark, const RunRequest& request) {
  const std::filesystem::path file = data_folder("suites") / (benchmark + ".json");
  if (!request.suite.empty() || !request.plan.empty() || !std::filesystem::exists(file)) return {};
  return read_suite(file).value("baseline", std::vector<std::string>{});
}

/// The row as it is printed: beside all baselines that have its problem.
json with_all_baselines(json row, const std::vector<Baseline>& baselines) {
  if (!row["baseline"].is_object()) return row;
  for (const Baseline& baseline : baselines)
    if (json match = baseline.match(row);
        match.is_object() && match["system"] != row["baseline"]["system"])
      row["further_baselines"].push_back(std::move(match));
  return row;
}

int run_on(Communicator& ranks, const Benchmark& benchmark, RunRequest& request,
           const std::string& command, Plugins& plugins) {
  const bool speaks = ranks.rank() == 0;  // one rank talks, writes and keeps the journal for all
  const std::vector<Case> all =
      selected_cases(benchmark, request, plugins, {ranks.size(), ranks.nodes()});
  const std::vector<Case> cases = planned_cases(request, all);
  expect_same_cases(ranks, cases);
  if (request.list) {
    if (speaks) print_list(benchmark, cases, request.json);
    return 0;
  }
  const bool asked = !request.baselines.empty();
  std::vector<Baseline> baselines;
  std::unique_ptr<Journal> journal;
  on_rank_0(ranks, [&] {
    // Whatever would make the numbers unusable is asked before any is measured.
    if (!request.out.empty()) check_out(request);
    for (const std::string& name :
         asked ? request.baselines : usual_baselines(benchmark.name(), request))
      baselines.push_back(Baseline::load(name));
    if (own_journal(request)) expect_no_earlier_rows(*own_journal(request));
    if (const auto file = journal_of(request)) journal = std::make_unique<Journal>(*file);
  });

  const std::string started = utc_now();
  // Of more cases than the planned ones: a process that runs a part of a suite again must load, and
  // tell, what the first one did.
  const json environment = environment_of(benchmark, of_such_a_process(all, cases), plugins, ranks);
  const json launch = {{"launch", request.launch}, {"attempt", request.attempt}};
  const std::optional<SignalNote> note_of_end = last_note(benchmark, request, ranks);
  // Tells which rank a process is.
  const std::vector<std::string> processes = ranks.allgather(std::to_string(getpid()));
  const auto append = [&](const json& event) {
    if (!journal) return;
    try {
      journal->append(event);
    } catch (const std::system_error& error) {
      // The one of `assay run` is the only place of its rows; these are still written to --out.
      if (!own_journal(request)) throw;
      std::cerr << "assay-" << benchmark.name() << ": " << error.what()
                << ". Rows are kept in memory alone from here on." << std::endl;
      journal.reset();
    }
  };
  auto note = [&](const char* event, json fields) {
    fields.update(launch);
    fields["event"] = event;
    append(fields);
  };
  if (own_journal(request))
    append({{"event", "run"},
            {"id", benchmark.name() + "-" + started},
            {"suite", request.suite},
            {"command", command},
            {"seed", request.seed},
            {"started", started},
            {"environment", environment}});
  note("launch", {{"benchmark", benchmark.name()},
                  {"environment", environment},
                  {"rank_processes", processes},
                  {"command", command},
                  {"started", started}});

  CaseContext context{plugins, ranks, request.seed, request.reference_budget, ranks_here(ranks)};
  json rows = json::array(), printed = json::array();
  const auto tell = [&](const std::string& text) {
    if (!text.empty()) std::cerr << "assay-" << benchmark.name() << ": " << text << std::endl;
  };
  CeilingProbe probe(plugins);
  for (const Case& selected : cases) {
    note("begin", {{"id", selected.id}, {"started", utc_now()}});
    if (speaks && request.talk == Talk::verbose)
      tell(fmt::format("case {} of {}: {}", rows.size() + 1, cases.size(), selected.id));
    const std::unique_ptr<Problem> problem = benchmark.problem(selected.settings);
    Outcome outcome =
        run_case([&] { return prepared(benchmark, selected, context); }, ranks, request.timing);
    if (outcome.timing) share(outcome.timing->contention, ranks);  // on all ranks or on none
    // Before the row is synced: the other ranks are in the next case already, and may say
    // something.
    if (!request.plan.empty() && speaks)
      std::cerr << "end of " << selected.id << end_of_case << std::endl;
    json row = make_row(benchmark.name(), selected, problem.get(), outcome, 0, request.launch,
                        request.attempt, ranks.size(), ranks.nodes());
    if (ranks.size() > 1)
      row["problem"]["shared_by"] = benchmark.ranks_share(selected.settings) ? ranks.size() : 1;
    // `assay run`, which gives a plan, judges by what it measures around the cases.
    if (request.plan.empty() && ranks.size() == 1) probe.judge(row);
    add_baseline(row, baselines);
    if (!asked) row.erase("baseline_reason");  // nobody asked
    append({{"event", "row"}, {"row", row}});
    if (speaks && (request.talk != Talk::quiet || is_wrong(row))) {
      print_row(with_all_baselines(row, baselines));
      printed.push_back(row);
    }
    if (speaks && request.talk == Talk::verbose) tell(row_details(row));
    rows.push_back(std::move(row));
  }
  if (speaks) std::cout << marks_text(printed) << std::flush;
  const json after = capture_volatile();  // beside the state before: what the run has done to it
  note("end", {{"benchmark", benchmark.name()}, {"volatile", after}});

  const ExitCode code = exit_code(rows);
  if (speaks && !request.out.empty()) {
    json result = make_result(benchmark.name() + "-" + started, request.suite, command,
                              request.seed, started);
    result["environments"] = json::array({environment});
    result["environments"][0]["volatile_after"] = after;
    result["rows"] = std::move(rows);
    write_result(std::move(result), request);
    std::error_code stays;
    if (const auto file = own_journal(request)) std::filesystem::remove(*file, stays);
  }
  return static_cast<int>(code);
}

int run(const Benchmark& benchmark, RunRequest& request, const std::string& command) {
  Plugins plugins;
  const std::unique_ptr<Communicator> ranks =
      request.all_ranks ? launched_ranks(plugins) : benchmark.connect(plugins);
  // A benchmark of one process under a launcher of several: one measures, the others would only be
  // in its way.
  if (ranks->size() == 1 && launched().rank > 0) return 0;
  if (ranks->size() == 1) return run_on(*ranks, benchmark, request, command, plugins);
  InputFaults faults(*ranks);
  try {
    return run_on(*ranks, benchmark, request, command, plugins);
  } catch (const InputError& error) {
    faults.tell("assay-" + benchmark.name(), error.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::exception& error) {
    // This rank cannot go on, and the others would wait for it for ever.
    ranks->abort("assay-" + benchmark.name() + ": " + error.what(), ExitCode::failed);
    throw;
  }
}

}  // namespace

int benchmark_main(const Benchmark& benchmark, int argc, const char* const* argv) {
  return guarded_main("assay-" + benchmark.name(), [&] {
    int exit = -1;
    RunRequest request;
    try {
      request = parse_benchmark_options(benchmark, argc, argv, exit);
      expect_launches_possible(request);
    } catch (const InputError&) {
      if (launched().rank == 0) throw;
      // Rank 0 tells it. A launcher ends all processes when one has failed: not before that.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      return static_cast<int>(ExitCode::usage);
    }
    if (exit >= 0) return exit;
    const std::string command = command_line(argc, argv);
    if (request.launches > 1)
      return run_launches(benchmark, request, launch_arguments(benchmark, argc, argv), command);
    return run(benchmark, request, command);
  });
}

}  // namespace assay
