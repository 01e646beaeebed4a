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

/// Two ways of one fp32 case, "backend/algorithm"; `settings`: of the case's other dimensions.
class OperationPair {
 public:
  OperationPair(const OperationBenchmark& benchmark, const Settings& settings, const std::string& a,
                const std::string& b)
      : benchmark_(benchmark),
        ranks_(serial_communicator()),
        a_(make(settings, a)),
        b_(make(settings, b)) {}
  /// Why a side cannot be had; empty where both can.
  const std::string& reason() const { return reason_; }
  std::string names() const {
    return a_->executed().implementation + " against " + b_->executed().implementation;
  }

  /// Seconds of both sides in each pair.
  nlohmann::json pairs(int count, int samples) {
    const auto timed = [&](Workload& workload) {
      TimingOptions options;
      options.max_time = 0.001;  // the minimum of samples ends it
      options.min_samples = options.max_samples = samples;
      return median(measure(workload, *ranks_, options).samples);
    };
    nlohmann::json result = alternate(
        count, [&] { return timed(*a_); }, [&] { return timed(*b_); });
    for (Workload* workload : {a_.get(), b_.get()}) {
      const Verification after = workload->verify_after();
      if (!after.passed)
        throw std::runtime_error("the result is wrong after timing (" + after.reason + ").");
    }
    return result;
  }

 private:
  std::unique_ptr<Workload> make(const Settings& settings, const std::string& side) {
    const std::size_t slash = side.find('/');
    if (const PluginStatus status = plugins_.status(side.substr(0, slash)); !status.available) {
      reason_ = status.name + ": " + status.reason;
      return nullptr;
    }
    CaseContext context{plugins_, *ranks_};
    std::map<std::string, std::vector<std::string>> chosen{{"precision", {"fp32"}},
                                                           {"backend", {side.substr(0, slash)}},
                                                           {"algorithm", {side.substr(slash + 1)}},
                                                           {"threads", {pair_threads}}};
    for (const auto& [name, value] : settings) chosen[name] = {value};
    const std::vector<Case> cases = expand(benchmark_, chosen, plugins_);
    auto made = benchmark_.prepare(cases.at(0), context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) {
      reason_ = refusal->reason;
      return nullptr;
    }
    auto workload = std::move(std::get<std::unique_ptr<Workload>>(made));
    const Verification before = workload->verify_before();
    if (!before.passed)
      throw std::runtime_error("the result is wrong (" + before.reason +
                               "). Mend it before timing it.");
    return workload;
  }

  const OperationBenchmark& benchmark_;
  Plugins plugins_;
  std::unique_ptr<Communicator> ranks_;
  std::string reason_;
  std::unique_ptr<Workload> a_, b_;
};

/// A ratio of the two sides' times on one case.
inline nlohmann::json operation_ratio(OperationPair& pair, int pairs, int samples) {
  if (!pair.reason().empty()) return {{"skip", pair.reason()}};
  return {{"pairs", pair.pairs(pairs, samples)},
          {"unit", "s"},
          {"note", pair.names() + ", " + pair_threads + " threads, " + std::to_string(samples) +
                       " samples a side"}};
}

}  // namespace assay::self_benchmark
