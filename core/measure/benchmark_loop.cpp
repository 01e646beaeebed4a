#include "core/measure/benchmark_loop.hpp"

#include <benchmark/benchmark.h>

#include <mutex>
#include <stdexcept>
#include <vector>

namespace assay {
namespace {

class SilentReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

// Google Benchmark has one registry for the process. The mutex is held while it is changed or read,
// which is until the loop begins; while any loop lives nothing is removed from it.
std::mutex registry;
int loops = 0;
long made = 0;

/// Google Benchmark takes its defaults from BENCHMARK_* variables, before main: BENCHMARK_OUT would
/// write a file, BENCHMARK_MIN_WARMUP_TIME would run iterations that nobody counts. Setting every
/// one here overrules them.
void overrule_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<std::string> flags = {
        "assay",
        "--benchmark_list_tests=false",
        "--benchmark_filter=.",
        "--benchmark_min_warmup_time=0",
        "--benchmark_repetitions=1",
        "--benchmark_enable_random_interleaving=false",
        "--benchmark_out=",
        "--benchmark_perf_counters=",
        "--benchmark_dry_run=false",  // of later versions; 1.7 leaves it alone
        "--v=0"};
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
  });
}

}  // namespace

BenchmarkLoop::BenchmarkLoop() {
  overrule_environment();
  const std::lock_guard lock(registry);
  if (loops++ == 0) benchmark::ClearRegisteredBenchmarks();
  name_ = "assay" + std::to_string(made++);
}

BenchmarkLoop::~BenchmarkLoop() {
  const std::lock_guard lock(registry);
  if (--loops == 0) benchmark::ClearRegisteredBenchmarks();
}

void BenchmarkLoop::run(int count, const std::function<double()>& iteration) {
  SilentReporter reporter;
  std::unique_lock lock(registry);
  const std::string chunk = name_ + "." + std::to_string(made++);
  int done = 0;
  benchmark::RegisterBenchmark(chunk.c_str(),
                               [&](benchmark::State& state) {
                                 if (lock.owns_lock()) lock.unlock();
                                 for ([[maybe_unused]] auto _ : state) {
                                   state.SetIterationTime(iteration());
                                   ++done;
                                 }
                               })
      ->UseManualTime()
      ->Repetitions(1)
      ->Iterations(count);
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "^" + chunk + "/");
  if (done != count) {
    throw std::logic_error(
        "Google Benchmark ran " + std::to_string(done) + " of " + std::to_string(count) +
        " iterations (its interface has changed). Report the version that is installed.");
  }
}

}  // namespace assay
