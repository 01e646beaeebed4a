#include <algorithm>
#include <chrono>
#include <string>

#include "core/base/clock.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/workload.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

std::unique_ptr<Communicator> Benchmark::connect(Plugins&) const {
  return make_serial_communicator();
}

std::vector<double> Benchmark::working_sets(const Case& selected) const {
  const std::shared_ptr<const Problem> case_problem = problem(selected);
  if (case_problem == nullptr || !(case_problem->bytes() > 0)) return {};
  return {case_problem->bytes()};
}

Case make_case(const Benchmark& benchmark, Settings settings, const RankCount& started) {
  Case completed;
  completed.settings = std::move(settings);
  completed.typed = benchmark.complete(completed.settings, started);
  return completed;
}

namespace {

struct OperationSettings {
  int threads = 0;  ///< 0: the benchmark has no such dimension
  bool cold = false;
  std::shared_ptr<const Problem> problem{};
};

}  // namespace

std::any OperationBenchmark::complete(Settings& settings, const RankCount&) const {
  OperationSettings read;
  if (const auto threads = settings.find("threads"); threads != settings.end())
    read.threads = parse_number<int>(threads->second).value_or(0);
  read.problem = make_problem(settings, read.threads);
  const auto cache = settings.find("cache");
  read.cold = cache != settings.end() && cache->second == "cold";
  return read;
}

std::shared_ptr<const Problem> OperationBenchmark::problem(const Case& selected) const {
  return typed_settings<OperationSettings>(selected).problem;
}

Result<std::unique_ptr<Workload>> OperationBenchmark::prepare(const Case& selected,
                                                              CaseContext& context) const {
  const auto& read = typed_settings<OperationSettings>(selected);
  return prepare(*read.problem, {selected.settings, read.threads}, read.cold, context);
}

Result<std::unique_ptr<Workload>> OperationBenchmark::prepare(const Problem& problem,
                                                              Options options, bool cold,
                                                              CaseContext& context) const {
  Result<Backend*> opened = context.plugins.open(options.settings.at("backend"));
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  const bool bound = options.threads > 0;
  options.threads = std::max(1, options.threads);
  Result<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  OperationSetup setup;
  // Called before the operation is made, because a library may divide its work among the existing
  // threads.
  if (bound && std::get<Device*>(device)->name() == "cpu") {
    if (auto why = why_not_threads(options.threads)) return Unsupported{std::move(*why)};
    setup.threads = options.threads;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point before = Clock::now();
  Result<std::unique_ptr<Operation>> result = backend.make(problem, options, context.ranks);
  const double create_seconds = seconds_since(before);
  if (auto* refusal = std::get_if<Unsupported>(&result)) return std::move(*refusal);

  setup.cold = cold;
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = context.ranks_here;
  setup.reference_budget = context.reference_budget;
  return make_operation_workload(problem, std::move(std::get<std::unique_ptr<Operation>>(result)),
                                 *std::get<Device*>(device), oracle(problem), create_seconds,
                                 setup);
}

}  // namespace assay
