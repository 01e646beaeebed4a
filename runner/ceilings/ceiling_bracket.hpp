#pragma once
// Measures the machine's ceilings around the cases of a run, with assay-stream.

#include <chrono>
#include <compare>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runner/ceilings/ceiling.hpp"
#include "runner/ceilings/ceiling_place.hpp"
#include "runner/run/campaign.hpp"

namespace assay {

/// The ceilings that the cases of a run need. No others are measured.
struct CeilingNeeds {
  std::set<std::string> precisions;
  std::set<int> threads;
  std::set<std::pair<int, std::string>> data;  ///< threads, problem of assay-stream: "triad"
  /// Precisions for each device other than the processor. The caches of a device are unknown before
  /// a case has run on it, so all levels of its memory are measured.
  std::map<CeilingPlace, std::set<std::string>> devices;
  bool none() const { return threads.empty() && devices.empty(); }
  /// `hardware`: "hardware" of the environment of the machine that runs the case.
  void add(const Case& benchmark_case, const nlohmann::json& hardware);
  void add(const CeilingNeeds& other);
};

/// The command that starts assay-stream with the same processes and cores as the cases.
struct CeilingStart {
  std::vector<std::string> launcher;
  bool all_ranks = false;  ///< all processes measure at the same time; false: only one of them does
  auto operator<=>(const CeilingStart&) const = default;
};
/// One measurement of the machine's ceilings.
using CeilingPlan = std::map<CeilingStart, CeilingNeeds>;

CeilingPlan ceiling_plan(const std::vector<PlannedBenchmark>& benchmarks,
                         const nlohmann::json& hardware);
void add(CeilingPlan& plan, const CeilingPlan& other);
/// Upper limit for the timed iterations of one bracket, in seconds.
double sum_timed_seconds(const CeilingPlan& plan);

class CeilingMeter {
 public:
  /// `options`: folder and time limit of the run. `programs`: the folder with assay-stream.
  CeilingMeter(CeilingPlan plan, CampaignOptions options, std::filesystem::path programs);
  /// Runs assay-stream for every precision (its peak), for each number of threads, and for every
  /// level of memory that may bound a case, on the processor and on every device of the cases. A
  /// failure becomes the bracket's reason, because a run never fails for lack of a ceiling. Throws
  /// Interrupted.
  Bracket measure();
  /// True if a new bracket should be measured before the next cases: more than ten times the
  /// duration of the last bracket has passed since it ended.
  bool due() const;

 private:
  std::vector<Row> measure_rows(const CeilingStart& start, const CeilingNeeds& needs);
  CeilingPlan plan_;
  CampaignOptions options_;
  std::filesystem::path programs_;
  std::chrono::steady_clock::time_point ended_;
  double seconds_ = 0;
};

}  // namespace assay
