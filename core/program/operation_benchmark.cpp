#include <chrono>
#include <string>

#include "core/base/clock.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/workload.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

std::unique_ptr<Communicator> Benchmark::connect(Plugins&) const { return serial_communicator(); }

std::vector<double> Benchmark::working_sets(const Settings& settings) const {
  const std::unique_ptr<Problem> what = problem(settings);
  if (what == nullptr || !(what->bytes() > 0)) return {};
  return {what->bytes()};
}

Result<std::unique_ptr<Workload>> OperationBenchmark::prepare(const Case& selected,
                                                              CaseContext& context) const {
  const std::unique_ptr<Problem> what = problem(selected.settings);
  Result<Backend*> opened = context.plugins.open(selected.settings.at("backend"));
  if (auto* refusal = std::get_if<Unsupported>(&opened)) return std::move(*refusal);
  Backend& backend = *std::get<Backend*>(opened);
  Options options;
  options.settings = selected.settings;
  if (const auto threads = selected.settings.find("threads"); threads != selected.settings.end())
    options.threads = std::stoi(threads->second);
  Result<Device*> device = backend.device(options);
  if (auto* refusal = std::get_if<Unsupported>(&device)) return std::move(*refusal);
  OperationSetup setup;
  // Before the operation is made: a library may divide its work among the threads that there are.
  if (selected.settings.contains("threads") && std::get<Device*>(device)->name() == "cpu") {
    if (auto why = why_not_threads(options.threads)) return Unsupported{std::move(*why)};
    setup.threads = options.threads;
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point before = Clock::now();
  Result<std::unique_ptr<Operation>> made = backend.make(*what, options, context.ranks);
  const double create_seconds = seconds_since(before);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);

  const auto cache = selected.settings.find("cache");
  setup.cold = cache != selected.settings.end() && cache->second == "cold";
  setup.seed = context.seed;
  setup.rank = context.ranks.rank();
  setup.ranks_here = context.ranks_here;
  setup.reference_budget = context.reference_budget;
  return operation_workload(*what, std::move(std::get<std::unique_ptr<Operation>>(made)),
                            *std::get<Device*>(device), oracle(*what), create_seconds, setup);
}

}  // namespace assay
