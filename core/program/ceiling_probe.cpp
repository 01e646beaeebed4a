#include "core/program/ceiling_probe.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "core/api/ceiling_problem.hpp"
#include "core/base/error.hpp"
#include "core/machine/contention.hpp"
#include "core/result/impossible.hpp"
#include "core/result/result.hpp"

namespace assay {

namespace {

using Clock = std::chrono::steady_clock;

/// The best of a few undisturbed runs. Each run is short compared with the scheduler's quantum, so
/// some runs are not interrupted even on a busy machine.
std::optional<double> least_seconds(Operation& operation, Stream& stream) {
  constexpr int enough = 5;
  constexpr auto longest = std::chrono::milliseconds(60);
  std::optional<double> least;
  int good = 0;
  for (const auto start = Clock::now(); good < enough && Clock::now() - start < longest;) {
    const Contention before = contention();
    stream.mark(0);
    operation.run(stream);
    stream.mark(1);
    stream.wait();
    const double seconds = stream.seconds(0, 1);
    const Contention meanwhile = between(before, contention(), seconds);
    if (!(seconds > 0) || meanwhile.waiting.value_or(0) > shared_above ||
        meanwhile.stolen.value_or(0) > shared_above ||
        meanwhile.throttled.value_or(0) > shared_above)
      continue;
    ++good;
    least = least ? std::min(*least, seconds) : seconds;
  }
  return least;
}

bool is_judged(const Row& row) {
  return row.is_ok() && is_bounded(row) && row.benchmark != "stream" &&
         row.parameters.contains("backend") && row.parameters.contains("precision") &&
         row.number("threads") && row.number("ranks").value_or(1) == 1 &&
         (!row.parameters.contains("device") || row.parameter("device") == "cpu");
}

}  // namespace

std::optional<double> CeilingProbe::rate(bool fma, const std::string& precision_name, int threads) {
  const auto [place, fresh] =
      known_.try_emplace({fma ? precision_name : "read", threads}, std::nullopt);
  if (!fresh) return place->second;
  const Result<Backend*> opened = plugins_.open(ceiling_backend());
  if (std::holds_alternative<Unsupported>(opened)) return std::nullopt;
  Options options;
  options.settings = {{"backend", ceiling_backend()}, {"device", "cpu"}};
  options.threads = threads;
  const Result<Device*> device = std::get<Backend*>(opened)->device(options);
  if (std::holds_alternative<Unsupported>(device)) return std::nullopt;
  const CeilingProblem problem(fma ? CeilingProblem::Kernel::fma : CeilingProblem::Kernel::read,
                               precision(precision_name), threads);
  const auto alone = make_serial_communicator();
  const auto result = std::get<Backend*>(opened)->make(problem, options, *alone);
  if (std::holds_alternative<Unsupported>(result)) return std::nullopt;
  Operation& operation = *std::get<std::unique_ptr<Operation>>(result);
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors.push_back(std::get<Device*>(device)->allocate(spec));
    bound.push_back(tensors.back().get());
    if (spec.role == Role::input)  // 1 is exact in every type and causes no subnormal numbers
      std::get<Device*>(device)->put(*tensors.back(), [](std::int64_t, std::span<double> values) {
        std::fill(values.begin(), values.end(), 1.0);
      });
  }
  operation.bind(bound);
  const auto seconds = least_seconds(operation, std::get<Device*>(device)->stream());
  if (seconds) place->second = operation.execution().numbers.at(fma ? "flops" : "bytes") / *seconds;
  return place->second;
}

/// If the row says that the processor computes 16-bit data in fp32, the faster of both units
/// counts.
std::optional<double> CeilingProbe::peak(const Row& row, int threads) {
  const std::string precision = arithmetic_name(row.parameter("precision"));
  std::optional<double> own = rate(true, precision, threads);
  if (row.execution && row.execution->compute == "fp32" && precision != "fp32" &&
      precision != "fp64")
    if (const auto other = rate(true, "fp32", threads); other && (!own || *other > *own))
      own = other;
  return own;
}

void CeilingProbe::judge(Row& row) {
  if (!is_judged(row)) return;
  const int threads = static_cast<int>(*row.number("threads"));
  LeastTime least;
  const auto at_least = [&](double amount, const std::optional<double>& per_s, const char* bound) {
    if (per_s && *per_s > 0 && amount / *per_s > least.seconds) least = {amount / *per_s, bound};
  };
  if (const auto work = count_operations_done(row); work && *work > 0)
    at_least(*work, peak(row, threads), "compute");
  // Wherever the data are, no byte arrives faster than from the first-level cache.
  if (const double bytes = row.problem.bytes.value_or(0); bytes > 0)
    at_least(bytes, rate(false, "fp64", threads), "L1");
  if (const auto why = why_impossible(row.median(), least)) take_back(row, *why);
}

}  // namespace assay
