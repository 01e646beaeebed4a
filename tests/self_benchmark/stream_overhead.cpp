// ratio: assay-stream's triad timed by measure() over a bare OpenMP loop in the same arrays
// target: <= 1.03
// pairs: 30

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "kernels/stream/benchmark.hpp"
#include "kernels/stream/problem.hpp"
#include "tests/self_benchmark/support/bound_operation.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;

constexpr int samples = 5;  // of each side in a pair, after one run that is not counted

/// McCalpin's loop as he writes it.
void bare_triad(const double* a, const double* b, double* c, std::int64_t n, int threads) {
  const double scalar = 3;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + scalar * b[i];
}

nlohmann::json overhead(int pairs) {
  const OperationBenchmark& benchmark = stream_benchmark();
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  const Case benchmark_case =
      expand(benchmark, {{"problem", {"triad"}}, {"algorithm", {"regular"}}}, plugins).at(0);
  const int threads = std::stoi(benchmark_case.settings.at("threads"));
  const StreamProblem problem(parse_stream(benchmark_case.settings.at("problem")), Precision::fp64,
                              threads);
  const std::int64_t n = problem.shape().n;
  Result<Backend*> backend = plugins.open("native");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  Options options{benchmark_case.settings, threads};
  Device& device = *std::get<Device*>(std::get<Backend*>(backend)->device(options));
  auto made = std::get<Backend*>(backend)->make(problem, options, *ranks);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
  self_benchmark::BoundOperation triad(
      std::move(std::get<std::unique_ptr<Operation>>(made)), device, [](const TensorSpec& spec) {
        return Values(Values::Kind::mantissa, 1, spec.name, spec.type, 0);
      });
  const auto array = [&](std::size_t i) { return static_cast<double*>(triad.data(i)); };
  const double *const a = array(0), *const b = array(1);
  double* const c = array(2);

  const auto bare = [&] {
    std::vector<double> times;
    for (int i = 0; i <= samples; ++i) {
      const auto start = std::chrono::steady_clock::now();
      bare_triad(a, b, c, n, threads);
      if (i > 0)
        times.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return median(times);
  };
  TimingOptions timing;
  timing.max_time = 2 * bare();
  timing.min_samples = timing.max_samples = samples;
  const auto timed = [&] { return median(measure(triad, *ranks, timing).samples); };
  const nlohmann::json result = self_benchmark::alternate(pairs, timed, bare);

  std::fill(c, c + n, std::nan(""));
  triad.run(triad.stream());
  for (std::int64_t i = 0; i < n; ++i)
    if (!(std::abs(c[i] - (a[i] + 3 * b[i])) <= 1e-15))
      throw std::runtime_error("element " + std::to_string(i) + " is wrong. Mend it first.");
  return {{"pairs", result},
          {"unit", "s"},
          {"note", triad.execution().implementation + ", " + problem.canonical() + ", " +
                       std::to_string(samples) + " samples a side"}};
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] { return overhead(self_benchmark::pairs_from(argc, argv)); });
}
