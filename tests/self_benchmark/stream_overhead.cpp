// ratio: assay-stream's triad timed by measure() over a bare OpenMP loop in the same arrays
// target: <= 1.03
// pairs: 30

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/statistics.hpp"
#include "core/suite.hpp"
#include "core/timing.hpp"
#include "kernels/stream.hpp"
#include "kernels/stream_benchmark.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;

constexpr int samples = 5;  // of each side in a pair, after one run that is not counted

/// The operation on tensors that the bare loop uses, too: in arrays of its own, of which the pages
/// lie elsewhere, the very same loop is up to 7 % faster or slower.
class Triad final : public Workload {
 public:
  Triad(std::unique_ptr<Operation> operation, Device& device)
      : operation_(std::move(operation)), device_(device) {
    std::vector<Tensor*> bound;
    for (const TensorSpec& spec : operation_->arguments()) {
      tensors_.push_back(device.allocate(spec));
      const Values values(Values::Kind::mantissa, 1, spec.name, spec.type, 0);
      device.put(*tensors_.back(),
                 [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
      bound.push_back(tensors_.back().get());
    }
    operation_->bind(bound);
  }
  Stream& stream() override { return device_.stream(); }
  void reset() override {}
  void run(Stream& stream) override { operation_->run(stream); }
  bool batchable() const override { return true; }
  Verification verify_before() override { return {}; }
  Verification verify_after() override { return {}; }
  Executed executed() const override { return operation_->executed(); }
  std::map<std::string, double> work() const override { return {}; }
  std::map<std::string, double> setup() const override { return {}; }

  double* array(std::size_t i) { return static_cast<double*>(tensors_[i]->data()); }

 private:
  std::unique_ptr<Operation> operation_;
  Device& device_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

/// McCalpin's loop as he writes it.
void bare_triad(const double* a, const double* b, double* c, std::int64_t n, int threads) {
  const double scalar = 3;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + scalar * b[i];
}

nlohmann::json overhead(int pairs) {
  const StreamBenchmark benchmark;
  Plugins plugins;
  const auto ranks = serial_communicator();
  const Case one =
      expand(benchmark, {{"problem", {"triad"}}, {"algorithm", {"regular"}}}, plugins).at(0);
  const int threads = std::stoi(one.settings.at("threads"));
  const StreamProblem problem(parse_stream(one.settings.at("problem")), Precision::fp64, threads);
  const std::int64_t n = problem.shape().n;
  Made<Backend*> backend = plugins.open("native");
  if (const auto* refusal = std::get_if<Unsupported>(&backend)) return {{"skip", refusal->reason}};
  Options options{one.settings, threads};
  Device& device = *std::get<Device*>(std::get<Backend*>(backend)->device(options));
  auto made = std::get<Backend*>(backend)->make(problem, options, *ranks);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
  Triad triad(std::move(std::get<std::unique_ptr<Operation>>(made)), device);
  const double *const a = triad.array(0), *const b = triad.array(1);
  double* const c = triad.array(2);

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
          {"note", triad.executed().implementation + ", " + problem.canonical() + ", " +
                       std::to_string(samples) + " samples a side"}};
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] { return overhead(self_benchmark::pairs_from(argc, argv)); });
}
