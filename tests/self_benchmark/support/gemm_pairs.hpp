#pragma once
// assay-gemm's operation timed by measure(), beside a bare loop around the library on the same
// matrices.

#include <array>
#include <chrono>
#include <functional>
#include <string>

#include "core/api/random.hpp"
#include "core/base/statistics.hpp"
#include "core/machine/environment.hpp"
#include "core/measure/timing.hpp"
#include "core/program/plugins.hpp"
#include "kernels/gemm/problem.hpp"
#include "tests/self_benchmark/support/bound_operation.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace assay::self_benchmark {

inline constexpr std::int64_t gemm_rows = 2048;

/// The matrices a, b and c of gemm_rows rows and columns.
using Matrices = std::array<float*, 3>;

/// Pairs of measure()'s median and the bare loop's. `bare` makes, of the backend and the matrices,
/// a function that computes the product once, or an empty one with the reason why not.
template <class MakeBare>
nlohmann::json gemm_ratio(int pairs, const std::string& backend_name, MakeBare bare) {
  constexpr int samples = 5;  // of each side in a pair, after one run that is not counted
  Plugins plugins;
  const Result<Backend*> opened = plugins.open(backend_name);
  if (const auto* refusal = std::get_if<Unsupported>(&opened)) return {{"skip", refusal->reason}};
  Backend& backend = *std::get<Backend*>(opened);
  Options options;
  options.threads = processors();
  const Result<Device*> device = backend.device(options);
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return {{"skip", refusal->reason}};
  const auto ranks = make_serial_communicator();
  GemmShape shape;
  shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = gemm_rows;
  auto made = backend.make(GemmProblem(shape, Precision::fp32), options, *ranks);
  if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
  BoundOperation ours(std::move(std::get<std::unique_ptr<Operation>>(made)),
                      *std::get<Device*>(device), [](const TensorSpec& spec) {
                        return Values(Values::Kind::mantissa, 1, spec.name, spec.type, 0);
                      });
  Matrices matrices;
  for (std::size_t i = 0; i < matrices.size(); ++i) matrices[i] = static_cast<float*>(ours.data(i));
  std::string why;
  const std::function<void()> product = bare(backend, matrices, why);
  if (!product) return {{"skip", why}};
  const auto bare_median = [&] {
    std::vector<double> times;
    for (int i = 0; i <= samples; ++i) {
      const auto start = std::chrono::steady_clock::now();
      product();
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (i > 0) times.push_back(passed.count());
    }
    return median(times);
  };
  TimingOptions timing;
  timing.max_time = 2 * bare_median();  // the warm-up is then one run, as in the bare loop
  timing.min_samples = timing.max_samples = samples;
  return {{"pairs",
           alternate(
               pairs, [&] { return median(measure(ours, *ranks, timing).samples); }, bare_median)},
          {"unit", "s"},
          {"note",
           ours.execution().implementation + ", " + std::to_string(samples) + " samples a side"}};
}

}  // namespace assay::self_benchmark
