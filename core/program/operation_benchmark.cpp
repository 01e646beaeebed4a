#include <chrono>
#include <string>

#include "core/base/clock.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/workload.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

std::unique_ptr<Communicator> Benchmark::connect(Plugins&) const { return serial_communicator(); }

std::vector<double> Benchmark::working_sets(const Case& selected) const {
  const std::shared_ptr<const Problem> asked = problem(selected);
  if (asked == nullptr || !(asked->bytes() > 0)) return {};
  return {asked->bytes()};
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
  /// Made by the first call of problem(): a case that is only listed may have none.
  mutable std::shared_ptr<const Problem> problem{};
};

}  // namespace

std::any OperationBenchmark::complete(Settings& settings, const RankCount&) const {
  OperationSettings read;
  if (const auto threads = settings.find("threads"); threads != settings.end())
    read.threads = std::stoi(threads->second);
  const auto cache = settings.find("cache");
  read.cold = cache != settings.end() && cache->second == "cold";
  return read;
}

std::shared_ptr<const Problem> OperationBenchmark::problem(const Case& selected) const {
  std::shared_ptr<const Problem>& known = typed_settings<OperationSettings>(selected).problem;
  if (known == nullptr) known = make_problem(selected.settings);
  return known;
}

Result<std::unique_ptr<Workload>> OperationBenchmark::prepare(const Case& selected,
                                                              CaseContext& context) const {
  const std::shared_ptr<const Problem> asked = problem(selected);
  const auto& read = typed_settings<OperationSettings>(selected);
  Result<Backend*> opened = context.plugins.open(selected.settings.at("backend"));
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  Options options;
  options.settings = selected.settings;
  if (read.threads > 0) options.threads = read.threads;
  Result<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  OperationSetup setup;
  // It is called before the operation is made: a library may divide its work among the threads that
  // there are.
  if (read.threads > 0 && std::get<Device*>(device)->name() == "cpu") {
    if (auto why = why_not_threads(options.threads)) return Unsupported{std::move(*why)};
    setup.threads = options.threads;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point before = Clock::now();
  Result<std::unique_ptr<Operation>> made = backend.make(*asked, options, context.ranks);
  const double create_seconds = seconds_since(before);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);

  setup.cold = read.cold;
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = context.ranks_here;
  setup.reference_budget = context.reference_budget;
  return operation_workload(*asked, std::move(std::get<std::unique_ptr<Operation>>(made)),
                            *std::get<Device*>(device), oracle(*asked), create_seconds, setup);
}

}  // namespace assay
