#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

#include "core/baseline.hpp"
#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "core/options.hpp"
#include "core/result.hpp"
#include "core/run_case.hpp"
#include "core/schema.hpp"
#include "core/suite.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The cases that the command line or the suite asks for.
std::vector<Case> selected_cases(const Benchmark& benchmark, RunRequest& request,
                                 Plugins& plugins) {
  std::vector<Case> cases;
  if (request.suite.empty()) {
    cases = expand(benchmark, request.chosen, plugins, request.required);
  } else {
    const std::filesystem::path file = find_suite(request.suite);
    const json suite = read_suite(file);
    cases = expand_suite(benchmark, suite, file.string(), plugins);
    const json timing = suite.value("timing", json::object());
    if (!request.max_time_given)
      request.timing.max_time = timing.value("max_time", request.timing.max_time);
    if (!request.precision_target_given)
      request.timing.precision_target =
          timing.value("precision_target", request.timing.precision_target);
    if (!request.min_samples_given)
      request.timing.min_samples = timing.value("min_samples", request.timing.min_samples);
    if (request.required)
      for (Case& one : cases) one.required = true;
  }
  return cases;
}

/// With a plan, only those and in its order.
std::vector<Case> planned_cases(const RunRequest& request, std::vector<Case> cases) {
  if (request.plan.empty()) return cases;
  std::vector<Case> planned;
  for (const json& id : read_json(request.plan)) {
    const auto found =
        std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.id == id; });
    if (found == cases.end())
      throw InputError(request.plan + ": no case '" + id.dump() + "' in suite '" + request.suite +
                       "'. Plan and suite differ.");
    planned.push_back(*found);
  }
  return planned;
}

void print_list(const Benchmark& benchmark, const std::vector<Case>& cases, bool as_json) {
  json list = json::array();
  for (const Case& one : cases) {
    if (as_json) {
      const std::unique_ptr<Problem> problem = benchmark.problem(one.settings);
      list.push_back({{"id", one.id},
                      {"names", one.names},
                      {"settings", one.settings},
                      {"required", one.required},
                      {"tolerance", one.tolerance ? json(*one.tolerance) : json()},
                      {"part_of", one.parts},
                      {"problem_bytes", problem == nullptr ? 0 : problem->bytes()}});
    } else {
      std::cout << one.id << (one.names.empty() ? "" : "  " + join(one.names, ",")) << '\n';
    }
  }
  if (as_json) std::cout << list.dump(1) << '\n';
}

std::string rate_text(const json& row) {
  const json& rates = row.at("rates");
  const auto rate = [&](const char* name) {
    const json value = rates.value(name, json());
    return value.is_number() ? value.get<double>() : 0;
  };
  const double flops = rate("flops_per_s"), bytes = rate("bytes_per_s");
  // What moves more bytes than it does operations is about memory.
  if (2 * flops < bytes) return fmt::format("{:>9.1f} GB/s", bytes * 1e-9);
  if (flops > 0) return fmt::format("{:>9.1f} GFLOP/s", flops * 1e-9);
  if (const double loads = rate("loads_per_s"); loads > 0)
    return fmt::format("{:>9.1f} ns/load", 1e9 / loads);
  return "";
}

std::string interval_text(const json& time) {
  const json& ci = time.at("ci95");
  const int n = time.at("n");
  if (!ci.is_array()) return fmt::format("n={}, no interval", n);
  return fmt::format("[{:.6g}, {:.6g}]  n={}", ci[0].get<double>() * 1e3, ci[1].get<double>() * 1e3,
                     n);
}

/// The line of a finished row: a value with its interval, or the reason why there is none.
void print_row(const json& row) {
  const std::string status = row.at("status");
  std::string line = row.at("id").get<std::string>() + "\n    ";
  if (status == "ok") {
    const json& time = row.at("time_s");
    line += fmt::format("{:.6g} ms{}  {}  {}", time.at("median").get<double>() * 1e3,
                        was_shared(row) ? "!" : "", interval_text(time), rate_text(row));
    line += "  " + row.at("executed").value("implementation", json()).dump();
    if (was_shared(row))
      line += "\n    ! other work wanted the processors: repeat when it is quiet";
    const json& baseline = row.at("baseline");
    const bool in_seconds = baseline.is_object() && baseline.at("unit") == "s";
    if (baseline.is_object())
      line += fmt::format("\n    {}: {:.6g} {}{}, speedup {:.3g}",
                          baseline.at("system").get<std::string>(),
                          baseline.at("value").get<double>() * (in_seconds ? 1e3 : 1),
                          in_seconds ? "ms" : baseline.at("unit").get<std::string>(),
                          baseline.at("published") == true ? " (published)" : "",
                          baseline.at("speedup").get<double>());
  } else {
    line += status + ": " + row.at("reason").get<std::string>();
  }
  std::cout << line << std::endl;
}

std::string command_line(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(argv[i]);
  return line;
}

/// The environment with the versions of every backend that the cases name.
json environment_of(const std::vector<Case>& cases, Plugins& plugins) {
  std::set<std::string> names;
  for (const Case& one : cases)
    if (const auto backend = one.settings.find("backend"); backend != one.settings.end())
      names.insert(backend->second);
  json environment = capture_environment();
  for (const std::string& name : names) {
    const Made<Backend*> backend = plugins.open(name);
    if (const auto* usable = std::get_if<Backend*>(&backend))
      add_software(environment, name, (*usable)->software());
  }
  return environment;
}

int run(const Benchmark& benchmark, RunRequest& request, const std::string& command) {
  Plugins plugins;
  const std::unique_ptr<Communicator> ranks = benchmark.connect(plugins);
  const bool speaks = ranks->rank() == 0;  // one rank talks, writes and keeps the journal for all
  const std::vector<Case> all = selected_cases(benchmark, request, plugins);
  const std::vector<Case> cases = planned_cases(request, all);
  if (request.list) {
    if (speaks) print_list(benchmark, cases, request.json);
    return 0;
  }
  // Whatever would make the numbers unusable is asked before any is measured.
  if (speaks && !request.out.empty()) check_writable(request.out);
  std::vector<Baseline> baselines;
  for (const std::string& name : request.baselines) baselines.push_back(Baseline::load(name));
  std::unique_ptr<Journal> journal;
  if (speaks && !request.journal.empty()) journal = std::make_unique<Journal>(request.journal);

  const std::string started = now();
  // Of all cases, not of the planned ones alone: a process that runs a part of a suite again must
  // load, and tell, what the first one did.
  const json environment = environment_of(all, plugins);
  const json launch = {{"launch", request.launch}, {"attempt", request.attempt}};
  auto note = [&](const char* event, json fields) {
    if (!journal) return;
    fields.update(launch);
    fields["event"] = event;
    journal->append(fields);
  };
  note("launch", {{"benchmark", benchmark.name()},
                  {"environment", environment},
                  {"command", command},
                  {"started", started}});

  CaseContext context{plugins, *ranks, request.seed, request.reference_budget};
  json rows = json::array();
  for (const Case& one : cases) {
    note("begin", {{"id", one.id}, {"started", now()}});
    const std::unique_ptr<Problem> problem = benchmark.problem(one.settings);
    const Outcome outcome = run_case(benchmark, one, context, request.timing);
    json row = make_row(benchmark.name(), one, problem.get(), outcome, 0, request.launch,
                        request.attempt, ranks->size(), ranks->nodes());
    for (const Baseline& baseline : baselines)
      if (row.at("baseline").is_null()) row["baseline"] = baseline.match(row);
    if (journal) journal->append({{"event", "row"}, {"row", row}});
    if (speaks) print_row(row);
    rows.push_back(std::move(row));
  }
  const json after = capture_volatile();  // beside the state before: what the run has done to it
  note("end", {{"benchmark", benchmark.name()}, {"volatile", after}});

  const ExitCode code = exit_code(rows);
  if (speaks && !request.out.empty()) {
    json result = make_result(benchmark.name() + "-" + started, request.suite, command,
                              request.seed, started);
    result["environments"] = json::array({environment});
    result["environments"][0]["volatile_after"] = after;
    result["rows"] = std::move(rows);
    result["run"]["finished"] = now();
    try {
      write_json(request.out, result);
    } catch (const InputError& error) {
      // The disk has filled up, or the folder has gone, since check_writable: what was measured is
      // not thrown away.
      std::cout << result.dump(1) << std::endl;
      throw CaseError(std::string(error.what()) + " The result is on stdout instead.");
    }
    std::cerr << "wrote " << request.out.string() << '\n';
  }
  return static_cast<int>(code);
}

}  // namespace

std::unique_ptr<Communicator> Benchmark::connect(Plugins&) const { return serial_communicator(); }

Made<std::unique_ptr<Workload>> OperationBenchmark::prepare(const Case& one,
                                                            CaseContext& context) const {
  const std::unique_ptr<Problem> what = problem(one.settings);
  Made<Backend*> opened = context.plugins.open(one.settings.at("backend"));
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  Options options;
  options.settings = one.settings;
  if (const auto threads = one.settings.find("threads"); threads != one.settings.end())
    options.threads = std::stoi(threads->second);
  Made<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  OperationSetup setup;
  // Before the operation is made: a library may divide its work among the threads that there are.
  if (one.settings.contains("threads") && std::get<Device*>(device)->name() == "cpu") {
    if (auto why = why_not_threads(options.threads)) return Unsupported{std::move(*why)};
    setup.threads = options.threads;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point before = Clock::now();
  Made<std::unique_ptr<Operation>> made = backend.make(*what, options, context.ranks);
  const double create_seconds = std::chrono::duration<double>(Clock::now() - before).count();
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);

  const auto cache = one.settings.find("cache");
  setup.cold = cache != one.settings.end() && cache->second == "cold";
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.reference_budget = context.reference_budget;
  return operation_workload(*what, std::move(std::get<std::unique_ptr<Operation>>(made)),
                            *std::get<Device*>(device), oracle(*what), create_seconds, setup);
}

int benchmark_main(const Benchmark& benchmark, int argc, const char* const* argv) {
  return guarded_main("assay-" + benchmark.name(), [&] {
    int exit = -1;
    RunRequest request = parse_benchmark_options(benchmark, argc, argv, exit);
    if (exit >= 0) return exit;
    return run(benchmark, request, command_line(argc, argv));
  });
}

}  // namespace assay
