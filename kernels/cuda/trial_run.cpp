#include "kernels/cuda/trial_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "support/cuda/trace.hpp"

namespace assay::cuda {
namespace {

constexpr int most_repeats = 3;
constexpr double longest_repeated_s = 10e-3;

/// Fills a tensor for a trial, because time and power depend on the data. Integers may be indices,
/// so they become ones.
void fill_for_trial(CudaDevice& device, Tensor& tensor) {
  if (const DataType type = tensor.spec().type; is_integer(type))
    device.fill(tensor, 1);
  else
    device.fill(tensor, Values(Values::Kind::mantissa, 1, "trial", type, 1));
}

/// Runs an idle GPU until its clock has risen; otherwise the first operation that is timed is the
/// slowest. A GPU that reports no state counts as one without clocks (tests).
void wake(CudaDevice& device, Operation& operation) {
  using Clock = std::chrono::steady_clock;
  constexpr double rests_s = 0.2, awake_s = 50e-3;
  static Clock::time_point worked;
  if (const auto start = Clock::now(); seconds_since(worked) > rests_s && device.state()) {
    operation.prologue(device.stream());
    while (seconds_since(start) < awake_s) {
      operation.run(device.stream());
      device.stream().wait();
    }
  }
  worked = Clock::now();
}

/// Seconds of one run, measured over `runs` runs without gaps (Stream::hold); 0 if the stream began
/// before all of them were submitted.
double measure_held_seconds(Stream& stream, Operation& operation, int runs) {
  if (!stream.hold()) return 0;
  try {
    stream.mark(0);
    for (int i = 0; i < runs; ++i) operation.run(stream);
    stream.mark(1);
  } catch (...) {
    stream.release();
    throw;
  }
  const bool early = !stream.release().empty();
  stream.wait();
  return early ? 0 : stream.seconds(0, 1) / runs;
}

/// The least of several times; repeats until it no longer falls by 1 %. The operation has run
/// before, so its code is on the GPU. A host that submits slowly ends the repetitions, because a
/// network has hundreds of plans.
double least_held_seconds(Stream& stream, Operation& operation) {
  constexpr int batches = 10;
  constexpr double steady = 0.99;
  constexpr double batch_s = 200e-6;  // the marks' resolution is small beside it
  constexpr double most_runs = 20;    // the stream's queue holds their launches
  const auto start = std::chrono::steady_clock::now();
  double least = measure_held_seconds(stream, operation, 1);
  for (int i = 0; i < batches && least > 0 && seconds_since(start) < longest_repeated_s; ++i) {
    const double again = measure_held_seconds(
        stream, operation, static_cast<int>(std::clamp(batch_s / least, 1.0, most_runs)));
    if (again <= 0) break;
    const bool fell = again < steady * least;
    least = std::min(least, again);
    if (!fell) break;
  }
  return least;
}

}  // namespace

std::string gib(std::size_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

std::optional<KernelMeaning> trial_run(CudaDevice& device, Operation& operation,
                                       const std::string& request, double* seconds) {
  std::size_t need = 0, workspace = 0;
  for (const TensorSpec& spec : operation.arguments()) {
    need += spec.bytes;
    if (spec.role == Role::workspace) workspace += spec.bytes;
  }
  if (const std::size_t free = device.memory_available(); need > free)
    throw CaseError(fmt::format(
        "needs {} on the GPU, {} of it workspace, but {} are free ({}). Use a smaller problem, or "
        "an algorithm with less workspace.",
        gib(need), gib(workspace), gib(free), request));
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(device.allocate(spec));
    bound.push_back(tensors.back().get());
    if (spec.role != Role::workspace) fill_for_trial(device, *bound.back());
  }
  operation.bind(bound);
  const auto run = [&] {
    operation.prologue(device.stream());
    device.stream().wait();
    return trace_kernels([&] {
      operation.run(device.stream());
      device.stream().wait();
    });
  };
  if (seconds != nullptr) wake(device, operation);
  const auto kernels = run();
  if (!kernels) {
    if (seconds != nullptr) *seconds = least_held_seconds(device.stream(), operation);
    return std::nullopt;
  }
  KernelMeaning seen = read_kernels(kernels->names);
  seen.seconds = kernels->seconds;
  // The first run has no data in caches.
  std::vector<double> repeats;
  for (int i = 0; i < most_repeats && seen.seconds < longest_repeated_s; ++i)
    if (const auto again = run()) repeats.push_back(again->seconds);
  if (!repeats.empty()) seen.seconds = median(repeats);
  return seen;
}

std::string note_kernels(const KernelMeaning& seen, Precision precision, Execution& execution) {
  execution.evidence = "trace";
  if (seen.seconds > 0) execution.numbers["kernels_s"] = seen.seconds;
  // Without tensor cores, kernel names do not tell the arithmetic of 16-bit or fp8 tensors.
  if ((size_of(storage(precision)) == 2 || is_fp8(precision)) && !seen.tensor_cores)
    execution.compute = "";
  return why_not_arithmetic(seen, precision);
}

}  // namespace assay::cuda
