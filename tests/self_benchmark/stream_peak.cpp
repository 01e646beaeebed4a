// ratio: assay-stream's fp32 peak of one thread over 2 * lanes * units * clock
// target: >= 0.95
// pairs: 30
// The clock is that of a chain of dependent additions.

#include <algorithm>
#include <cmath>

#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "kernels/stream/benchmark.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace {

using namespace assay;

/// The number of units is no thing that a processor tells: it is the least whole number that the
/// median rate does not exceed by more than the clock's reading varies, so a rate that is half of
/// what it should be passes as one unit.
/// The ratio shows that nothing but the units bounds the loop.
nlohmann::json peak(int pairs) {
  const OperationBenchmark& benchmark = stream_benchmark();
  Plugins plugins;
  const auto ranks = make_serial_communicator();
  CaseContext context{plugins, *ranks};
  const std::vector<Case> cases = expand(
      benchmark, {{"problem", {"fma"}}, {"precision", {"fp32"}}, {"threads", {"1"}}}, plugins);
  std::vector<double> rates, clocks, in_units;
  std::string note;
  TimingOptions options;
  options.max_time = 0.05;
  for (int i = 0; i < pairs; ++i) {
    // Prepared anew: the clock is read where the case is verified, next to what is timed.
    auto made = benchmark.prepare(cases.at(0), context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) return {{"skip", refusal->reason}};
    const std::unique_ptr<Workload> workload = std::move(std::get<std::unique_ptr<Workload>>(made));
    const Verification before = workload->verify_before();
    if (!before.passed) throw std::runtime_error("the result is wrong (" + before.reason + ").");
    const double seconds = median(measure(*workload, *ranks, options).samples);
    const Execution ran = workload->execution();
    if (!ran.numbers.contains("clock_hz"))
      return {{"skip", "no chain of additions is written here"}};
    rates.push_back(workload->work().at("flops_per_s") / seconds);
    clocks.push_back(2 * ran.numbers.at("vector_bits") / 32 * ran.numbers.at("clock_hz"));
    in_units.push_back(rates.back() / clocks.back());
    note = ran.implementation;
  }
  const double units = std::max(1.0, std::ceil(median(in_units) - 0.05));
  note += ", " + std::to_string(static_cast<int>(units)) + " units";
  nlohmann::json result = nlohmann::json::array();
  for (std::size_t i = 0; i < rates.size(); ++i) result.push_back({rates[i], units * clocks[i]});
  return {{"pairs", result}, {"unit", "FLOP/s"}, {"note", note}};
}

}  // namespace

int main(int argc, char** argv) {
  return self_benchmark::print([&] { return peak(self_benchmark::pairs_from(argc, argv)); });
}
