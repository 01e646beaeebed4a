#include "kernels/cuda/trial_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

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

/// Temporary memory for the arguments of an operation, filled. Throws CaseError if memory is short.
std::vector<std::unique_ptr<Tensor>> make_trial_tensors(CudaDevice& device,
                                                        const Operation& operation,
                                                        const std::string& request) {
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
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(device.allocate(spec));
    if (spec.role != Role::workspace) fill_for_trial(device, *tensors.back());
  }
  return tensors;
}

/// Binds the first tensors, as many as the operation has arguments.
void bind_first(Operation& operation, const std::vector<std::unique_ptr<Tensor>>& tensors) {
  std::vector<Tensor*> bound;
  for (std::size_t i = 0; i < operation.arguments().size(); ++i) bound.push_back(tensors[i].get());
  operation.bind(bound);
}

/// Runs it once. The kernels of run(), if they can be recorded.
std::optional<KernelTrace> trace_run(Stream& stream, Operation& operation) {
  operation.prologue(stream);
  stream.wait();
  return trace_kernels([&] {
    operation.run(stream);
    stream.wait();
  });
}

}  // namespace

std::string gib(std::size_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

std::optional<KernelMeaning> trial_run(CudaDevice& device, Operation& operation,
                                       const std::string& request, double* seconds) {
  const auto tensors = make_trial_tensors(device, operation, request);
  bind_first(operation, tensors);
  Stream& stream = device.stream();
  if (seconds != nullptr) wake(device, operation);
  const auto kernels = trace_run(stream, operation);
  if (!kernels) {
    if (seconds != nullptr) *seconds = measure_held_seconds(stream, operation, 1);
    return std::nullopt;
  }
  KernelMeaning seen = read_kernels(kernels->names);
  seen.seconds = kernels->seconds;
  // The first run has no data in caches.
  std::vector<double> repeats;
  for (int i = 0; i < most_repeats && seen.seconds < longest_repeated_s && seconds == nullptr; ++i)
    if (const auto again = trace_run(stream, operation)) repeats.push_back(again->seconds);
  if (!repeats.empty()) seen.seconds = median(repeats);
  return seen;
}

void time_in_rounds(CudaDevice& device, std::span<Contender> all, const std::string& request) {
  constexpr std::size_t rounds = 4;
  constexpr double batch_s = 200e-6;  // the marks' resolution is small beside it
  constexpr double most_runs = 20;    // the stream's queue holds their launches
  const auto size_of_all = [](const Contender& each) {
    std::size_t bytes = 0;
    for (const TensorSpec& spec : each.operation->arguments()) bytes += spec.bytes;
    return bytes;
  };
  const auto largest = std::ranges::max_element(all, {}, size_of_all);
  const auto tensors = make_trial_tensors(device, *largest->operation, request);
  Stream& stream = device.stream();
  for (const Contender& each : all) bind_first(*each.operation, tensors);
  wake(device, *all.front().operation);
  std::vector<std::vector<double>> samples(all.size());
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < rounds; ++round) {
    // Long ones have a round in each direction.
    if (round == 2 && seconds_since(start) > longest_repeated_s * static_cast<double>(all.size()))
      break;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t which = round % 2 == 0 ? i : all.size() - 1 - i;
      const Contender& each = all[which];
      double seconds = 0;
      if (each.recorded) {
        if (const auto kernels = trace_run(stream, *each.operation)) seconds = kernels->seconds;
      } else {
        const double runs = std::clamp(batch_s / each.seconds, 1.0, most_runs);
        seconds = measure_held_seconds(stream, *each.operation, static_cast<int>(runs));
      }
      if (seconds > 0) samples[which].push_back(seconds);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!samples[i].empty()) all[i].seconds = median(samples[i]);
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
