#pragma once
// One operation by two backends or algorithms, verified before and after, their runs paired.

#include <memory>
#include <stdexcept>

#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/program/suite.hpp"
#include "tests/self_benchmark/support/pairs.hpp"

namespace assay::self_benchmark {

inline constexpr const char* pair_threads = "2";

/// One way to compute a case, "backend/algorithm", fp32 unless `settings`, which are of the case's
/// other dimensions, have another precision. Verified when it is made.
class TimedOperation {
 public:
  TimedOperation(const OperationBenchmark& benchmark, const Settings& settings,
                 const std::string& way)
      : ranks_(make_serial_communicator()), workload_(make(benchmark, settings, way)) {}
  /// Why it cannot be had; empty where it can.
  const std::string& reason() const { return reason_; }
  std::string name() const { return workload_->execution().implementation; }

  /// The median seconds of so many runs.
  double seconds(int samples) {
    TimingOptions options;
    options.max_time = 0.001;  // the minimum of samples ends it
    options.min_samples = options.max_samples = samples;
    return median(measure(*workload_, *ranks_, options).samples);
  }
  /// The rate of the median of so many runs.
  double flops_per_s(int samples) { return workload_->work().at("flops_per_s") / seconds(samples); }
  /// Throws where the result is wrong now.
  void verify() { expect(workload_->verify_after(), "after timing"); }

 private:
  static void expect(const Verification& found, const char* when) {
    if (!found.passed)
      throw std::runtime_error(std::string("the result is wrong ") + when + " (" + found.reason +
                               "). Mend it before timing it.");
  }
  std::unique_ptr<Workload> make(const OperationBenchmark& benchmark, const Settings& settings,
                                 const std::string& way) {
    const std::size_t slash = way.find('/');
    const std::string backend = way.substr(0, slash);
    if (const PluginStatus status = plugins_.status(backend); !status.available) {
      reason_ = status.name + ": " + status.reason;
      return nullptr;
    }
    CaseContext context{plugins_, *ranks_};
    std::map<std::string, std::vector<std::string>> chosen{{"precision", {"fp32"}},
                                                           {"backend", {backend}},
                                                           {"algorithm", {way.substr(slash + 1)}},
                                                           {"threads", {pair_threads}}};
    for (const auto& [name, value] : settings) chosen[name] = {value};
    const std::vector<Case> cases = expand(benchmark, chosen, plugins_);
    auto made = benchmark.prepare(cases.at(0), context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) {
      reason_ = refusal->reason;
      return nullptr;
    }
    auto workload = std::move(std::get<std::unique_ptr<Workload>>(made));
    expect(workload->verify_before(), "before timing");
    return workload;
  }

  Plugins plugins_;
  std::unique_ptr<Communicator> ranks_;
  std::string reason_;
  std::unique_ptr<Workload> workload_;
};

/// Two ways of one case.
class OperationPair {
 public:
  OperationPair(const OperationBenchmark& benchmark, const Settings& settings, const std::string& a,
                const std::string& b)
      : a_(benchmark, settings, a), b_(benchmark, settings, b) {}
  /// Why a side cannot be had; empty where both can.
  const std::string& reason() const { return a_.reason().empty() ? b_.reason() : a_.reason(); }
  std::string names() const { return a_.name() + " against " + b_.name(); }

  /// Seconds of both sides in each pair.
  nlohmann::json pairs(int count, int samples) {
    nlohmann::json result = alternate(
        count, [&] { return a_.seconds(samples); }, [&] { return b_.seconds(samples); });
    for (TimedOperation* side : {&a_, &b_}) side->verify();
    return result;
  }

 private:
  TimedOperation a_, b_;
};

/// A ratio of the two sides' times on one case.
inline nlohmann::json operation_ratio(OperationPair& pair, int pairs, int samples) {
  if (!pair.reason().empty()) return {{"skip", pair.reason()}};
  return {{"pairs", pair.pairs(pairs, samples)},
          {"unit", "s"},
          {"note", pair.names() + ", " + pair_threads + " threads, " + std::to_string(samples) +
                       " samples a side"}};
}

/// The rate of an operation over that of another one, in FLOP/s.
inline nlohmann::json rate_ratio(TimedOperation& a, TimedOperation& b, int pairs) {
  for (const TimedOperation* side : {&a, &b})
    if (!side->reason().empty()) return {{"skip", side->reason()}};
  const auto found = alternate(
      pairs, [&] { return a.flops_per_s(1); }, [&] { return b.flops_per_s(5); });
  for (TimedOperation* side : {&a, &b}) side->verify();
  return {{"pairs", found},
          {"unit", "FLOP/s"},
          {"note", a.name() + " against " + b.name() + ", " + pair_threads + " threads"}};
}

}  // namespace assay::self_benchmark
