#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/operation.hpp"
#include "core/base/text.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/kmeans/kmeans.hpp"

namespace assay {
namespace {

/// The iterations with one number of centroids.
class LloydRun {
 public:
  LloydRun(const AnalysisCase& analysis, const KmeansSettings& settings,
           std::unique_ptr<AnalyticsStep> assign)
      : settings_(settings),
        rows_(analysis.rows),
        d_(static_cast<std::size_t>(analysis.features)),
        k_(static_cast<std::size_t>(settings.clusters)),
        type_(storage(analysis.precision)),
        assign_(std::move(assign)),
        sums_(k_ * d_ + k_ + 1) {
    const auto steps = static_cast<std::size_t>(settings.iterations);
    trajectory_.centroids.assign(steps + 1, std::vector<double>(k_ * d_));
    trajectory_.counts.assign(steps, std::vector<double>(k_));
    trajectory_.inertia.resize(steps);
  }

  std::int64_t clusters() const { return settings_.clusters; }
  /// True if the run determines its number of iterations.
  bool decides() const { return settings_.tolerance >= 0; }
  /// Passes over the table in the last run, and operations.
  double passes() const { return static_cast<double>(trajectory_.passes); }
  double operations() const {
    return passes() * static_cast<double>(rows_) * static_cast<double>(d_) *
           operations_of_element(static_cast<double>(k_));
  }
  AnalyticsStep& assign() const { return *assign_; }
  const Trajectory& trajectory() const { return trajectory_; }

  /// Untimed. The rows are loaded already.
  void start(const DataTable& table, const RowPass& mine, RankCalls& ranks) {
    if (start_.empty()) ranks.prepare(sums_);
    trajectory_.start_rows = starting_rows(table, mine, settings_, ranks);
    start_ = centroids_at(trajectory_.start_rows, table, mine, ranks);
  }

  void poison() {
    assign_->poison_outputs();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (std::vector<double>& centroids : trajectory_.centroids)
      std::fill(centroids.begin(), centroids.end(), nan);
    std::fill(trajectory_.inertia.begin(), trajectory_.inertia.end(), nan);
    trajectory_.iterations = 0;
    trajectory_.passes = 0;
  }

  void run(RankCalls& ranks) {
    trajectory_.centroids[0] = start_;
    const std::int64_t before = assign_->runs();
    for (int step = 0; step < settings_.iterations; ++step) {
      iterate(static_cast<std::size_t>(step), ranks);
      trajectory_.iterations = step + 1;
      if (settings_.tolerance >= 0 && trajectory_.moved <= settings_.tolerance) break;
    }
    trajectory_.passes = assign_->runs() - before;
  }

  /// `suffix`: appended to each name.
  void add_metrics(const std::string& suffix, std::map<std::string, Metric>& all) const {
    const auto last = static_cast<std::size_t>(trajectory_.iterations - 1);
    const std::vector<double>& counts = trajectory_.counts[last];
    all["inertia" + suffix] = {trajectory_.inertia[last], "", "lower"};
    all["iterations" + suffix] = {static_cast<double>(trajectory_.iterations), "", ""};
    all["moved" + suffix] = {trajectory_.moved, "", "lower"};
    all["empty_clusters" + suffix] = {
        static_cast<double>(std::count(counts.begin(), counts.end(), 0.0)), "", "lower"};
  }

 private:
  /// The move from centroids[step] to centroids[step + 1].
  void iterate(std::size_t step, RankCalls& ranks) {
    const std::vector<double>& from = trajectory_.centroids[step];
    std::vector<double>& to = trajectory_.centroids[step + 1];
    assign_->write("centroids", from);
    assign_->run();
    const std::span<double> all(sums_);
    assign_->read("sums", all.first(k_ * d_));
    assign_->read("counts", all.subspan(k_ * d_, k_));
    assign_->read("inertia", all.last(1));
    ranks.sum(all);
    trajectory_.inertia[step] = sums_.back();
    double farthest = 0;
    for (std::size_t c = 0; c < k_; ++c) {
      const double count = trajectory_.counts[step][c] = sums_[k_ * d_ + c];
      double moved = 0;
      for (std::size_t j = c * d_; j < (c + 1) * d_; ++j) {
        // Values are rounded to the table's type, because the kernel and the check both read these.
        to[j] = count > 0 ? round_to(type_, sums_[j] / count) : from[j];
        moved += (to[j] - from[j]) * (to[j] - from[j]);
      }
      farthest = std::max(farthest, moved);
    }
    trajectory_.moved = std::sqrt(farthest / (sums_.back() / static_cast<double>(rows_)));
    if (farthest == 0) trajectory_.moved = 0;  // also if all rows are centroids
  }

  KmeansSettings settings_;
  std::int64_t rows_;
  std::size_t d_, k_;
  DataType type_;
  std::unique_ptr<AnalyticsStep> assign_;
  std::vector<double> start_, sums_;
  Trajectory trajectory_;
};

/// Runs in turn, each from its own start, on one loaded table: their operations share it.
class Kmeans final : public Analysis {
 public:
  Kmeans(const AnalysisCase& analysis, std::vector<LloydRun> runs)
      : pass_{analysis.mine, storage(analysis.precision), false, analysis.steps.threads()},
        seed_(analysis.seed),
        ranks_(analysis.ranks),
        runs_(std::move(runs)) {}

  Device& device() override { return runs_.front().assign().device(); }

  void load(const DataTable& table) override {
    load_rows(table, pass_.range, device(), runs_.front().assign().tensor("x"), nullptr,
              pass_.threads, ranks_.communicator());
    for (LloydRun& run : runs_) run.start(table, pass_, ranks_);
  }

  void poison() override {
    for (LloydRun& run : runs_) run.poison();
  }

  void run() override {
    for (LloydRun& run : runs_) run.run(ranks_);
  }

  Verification verify(const DataTable& table, const CaseClaims& claimed_case) override {
    std::vector<const Trajectory*> claimed;
    for (const LloydRun& run : runs_) claimed.push_back(&run.trajectory());
    const KmeansClaims claims(claimed_case);
    RowPass pass = pass_;
    pass.type = claims.type;
    return verify_trajectories(claimed, claims, table, pass, ranks_, ++seed_, &expected_);
  }

  StepWork done() const override {
    StepWork all;
    for (const LloydRun& run : runs_) all = all + run.assign().done();
    return all;
  }
  double loaded_bytes() const override {
    return static_cast<double>(runs_.front().assign().tensor("x").spec().bytes);
  }

  Execution execution() const override {
    Execution all = runs_.front().assign().execution();
    std::vector<std::string> kernels;
    for (const LloydRun& run : runs_) {
      const std::string kernel = run.assign().execution().implementation;
      if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
        kernels.push_back(kernel);
    }
    all.implementation = "assignment: " + join(kernels, ", ");
    all.algorithm = "lloyd";
    all.algorithmic_flops = 0;
    if (!runs_.front().decides()) return all;  // known before the run
    double passes = 0;
    for (const LloydRun& run : runs_) {
      passes += run.passes();
      all.algorithmic_flops += run.operations();
    }
    if (passes > 0) all.numbers["passes"] = passes;
    return all;
  }

  ExpectedMetrics expected_metrics() const override {
    ExpectedMetrics all;
    for (std::size_t i = 0; i < expected_.size(); ++i)
      for (const auto& [name, expected] : expected_[i]) all[name + suffix(runs_[i])] = expected;
    return all;
  }

  std::map<std::string, Metric> metrics() const override {
    std::map<std::string, Metric> all;
    for (const LloydRun& run : runs_) run.add_metrics(suffix(run), all);
    return all;
  }

 private:
  std::string suffix(const LloydRun& run) const {
    return runs_.size() == 1 ? "" : fmt::format("_k{}", run.clusters());
  }

  RowPass pass_;
  std::uint64_t seed_;
  RankCalls ranks_;
  std::vector<LloydRun> runs_;
  std::vector<ExpectedMetrics> expected_;
};

}  // namespace

LinalgProblem make_assignment_problem(std::int64_t rows, std::int64_t features,
                                      std::int64_t clusters, Precision precision) {
  return {{LinalgKernel::kmeans_assign, rows, features, clusters}, precision};
}

Result<std::unique_ptr<Analysis>> make_kmeans(const AnalysisCase& analysis,
                                              const std::vector<KmeansSettings>& all) {
  std::vector<LloydRun> runs;
  for (const KmeansSettings& settings : all) {
    std::map<std::string, Tensor*> shared;
    if (!runs.empty()) shared["x"] = &runs.front().assign().tensor("x");
    Result<std::unique_ptr<AnalyticsStep>> assign =
        analysis.steps.make_own(make_assignment_problem(analysis.mine.count, analysis.features,
                                                        settings.clusters, analysis.precision),
                                shared);
    if (auto* refusal = std::get_if<Unsupported>(&assign)) return std::move(*refusal);
    runs.emplace_back(analysis, settings,
                      std::move(std::get<std::unique_ptr<AnalyticsStep>>(assign)));
  }
  return std::make_unique<Kmeans>(analysis, std::move(runs));
}

}  // namespace assay
