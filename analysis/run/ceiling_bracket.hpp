#pragma once
// Measures the machine's ceilings around the cases of a run, with assay-stream.

#include <chrono>
#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/campaign.hpp"
#include "analysis/run/ceiling.hpp"
#include "analysis/run/ceiling_place.hpp"

namespace assay {

/// What cases ask for: no more is measured.
struct CeilingNeeds {
  std::set<std::string> precisions;
  std::set<int> threads;
  std::set<std::pair<int, std::string>> data;  ///< threads, problem of assay-stream: "triad"
  /// Precisions by device, beside the processor's above. Its caches are not known before a case
  /// has run there, so the levels of its memory are all measured.
  std::map<CeilingPlace, std::set<std::string>> devices;
  bool none() const { return threads.empty() && devices.empty(); }
  /// `hardware`: of the machine that runs the case.
  void add(const Case& benchmark_case, const nlohmann::json& hardware);
  void add(const CeilingNeeds& other);
};

/// How assay-stream is started, so that it has what the processes of some cases had.
struct CeilingStart {
  std::vector<std::string> launcher;
  bool all_ranks = false;  ///< all processes measure at once; else one of them, alone
  auto operator<=>(const CeilingStart&) const = default;
};
/// One measurement of the machine's ceilings.
using CeilingPlan = std::map<CeilingStart, CeilingNeeds>;

CeilingPlan ceiling_plan(const std::vector<PlannedBenchmark>& benchmarks,
                         const nlohmann::json& hardware);
void add(CeilingPlan& plan, const CeilingPlan& other);
/// Longest time of the timed iterations of one bracket, in seconds.
double timed_seconds(const CeilingPlan& plan);

class CeilingMeter {
 public:
  /// `options`: of the run, for its folder and time limit; `programs` holds assay-stream.
  CeilingMeter(CeilingPlan plan, CampaignOptions options, std::filesystem::path programs);
  /// Runs assay-stream for every precision (its peak), for each number of threads, and for every
  /// level of memory that may bound a case, on the processor and on every device of the cases. What
  /// fails is told in the bracket's "reason": no run fails for want of a ceiling. Throws
  /// Interrupted.
  Bracket measure();
  /// Whether the next cases should have a bracket of their own: the last one is long ago, by ten
  /// times what it took.
  bool due() const;

 private:
  nlohmann::json rows();
  nlohmann::json rows_of(const CeilingStart& start, const CeilingNeeds& needs);
  CeilingPlan plan_;
  CampaignOptions options_;
  std::filesystem::path programs_;
  std::chrono::steady_clock::time_point ended_;
  double seconds_ = 0;
};

}  // namespace assay
