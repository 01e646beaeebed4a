#include "models/svm/svm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "models/svm/nelder_mead.hpp"

namespace assay {
namespace {

/// Newton's first steps use only this part of the rows, down to this gap. Then w is as near to the
/// solution as so few rows permit, and only some steps on all rows remain.
constexpr std::int64_t first_part = 16;
constexpr double first_gap = 0.02;

class Svm final : public Analysis {
 public:
  Svm(const AnalysisCase& analysis, const SvmSettings& settings,
      std::unique_ptr<SvmObjective> objective, std::unique_ptr<SvmObjective> part)
      : settings_(settings),
        pass_{analysis.mine, storage(analysis.precision), true, analysis.steps.threads()},
        objective_(std::move(objective)),
        part_(std::move(part)),
        newton_(objective_->dimensions()),
        nelder_mead_(settings.nelder_mead ? objective_->dimensions() : 1) {
    solution_.w.resize(objective_->dimensions());
  }

  Device& device() override { return objective_->device(); }

  void load(const DataTable& table) override {
    load_rows(table, pass_.range, device(), objective_->x(), &objective_->y(), pass_.threads,
              objective_->ranks().communicator());
    if (!prepared_) objective_->prepare();
    if (!prepared_ && part_ != nullptr) part_->prepare();
    prepared_ = true;
  }

  void poison() override {
    objective_->poison();
    if (part_ != nullptr) part_->poison();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::fill(solution_.w.begin(), solution_.w.end(), nan);
    solution_.objective = solution_.gap = nan;
  }

  void run() override {
    const std::int64_t before = objective_->passes();
    const double evaluated = evaluated_flops(), curved = done().flops - evaluated;
    solve();
    solution_.passes = objective_->passes() - before;
    solution_.flops = evaluated_flops() - evaluated;
    solution_.curvature_flops = done().flops - evaluated_flops() - curved;
  }

  Verification verify(const DataTable& table, const CaseClaims& claimed_case) override {
    const SvmClaims claims(claimed_case.settings);
    RowPass pass = pass_;
    pass.type = claims.type;
    if (settings_.nelder_mead) {
      const std::span<const double> vertex =
          std::as_const(nelder_mead_).vertex(random_() % (solution_.w.size() + 1));
      solution_.vertex.assign(vertex.begin(), vertex.end());
    }
    SvmSolution of_all = solution_;
    double flops[] = {solution_.flops, solution_.curvature_flops};
    objective_->ranks().sum(flops);
    of_all.flops = flops[0], of_all.curvature_flops = flops[1];
    of_all.hessian = objective_->last_hessian(solution_, random_());
    of_all.operations = execution().algorithmic_flops;
    check_ = verify_svm(of_all, claims, table, pass, objective_->ranks());
    return check_.verification;
  }

  ExpectedMetrics expected_metrics() const override {
    return {{"objective", {check_.objective, check_.error * check_.objective, 0}},
            {"evaluations", {static_cast<double>(solution_.passes), 0, 0}}};
  }

  StepWork done() const override {
    return part_ == nullptr ? objective_->done() : objective_->done() + part_->done();
  }
  double loaded_bytes() const override { return static_cast<double>(objective_->x().spec().bytes); }

  Execution execution() const override {
    Execution all = objective_->execution();
    all.algorithm = settings_.nelder_mead ? "nelder_mead" : "newton";
    // Describes the last run. Rows without curvature need no operations, and without a slope
    // (nelder_mead) no gradient is computed. `passes` counts only those that certainly read the
    // whole table: the data that the curvature and the first part read again may come from a cache.
    const auto width = static_cast<double>(objective_->dimensions());
    const double of_row = (settings_.nelder_mead ? 2 : 4) * width;
    all.algorithmic_flops =
        solution_.evaluated_rows * of_row + solution_.curved_rows * width * (width + 1);
    if (solution_.passes > 0) all.numbers["passes"] = static_cast<double>(solution_.passes);
    return all;
  }

  std::map<std::string, Metric> metrics() const override {
    // The gap uses a dual solution that the verification itself makes feasible. The run's own gap
    // differs, because a steep slope amplifies its rounding errors.
    return {{"objective", {solution_.objective, "", "lower"}},
            {"duality_gap", {check_.gap, "", "lower"}},
            {"accuracy", {check_.accuracy, "", "higher"}},
            {"evaluations", {static_cast<double>(solution_.evaluations), "", "lower"}}};
  }

 private:
  double evaluated_flops() const {
    return objective_->evaluation_work().flops +
           (part_ == nullptr ? 0 : part_->evaluation_work().flops);
  }

  void solve() {
    if (!settings_.nelder_mead) {
      newton_.start(solution_);
      if (part_ != nullptr) {
        SvmSettings rough = settings_;
        rough.gap = std::max(settings_.gap, first_gap);
        newton_.run(*part_, rough, solution_);
        solution_.evaluations = solution_.steps = 0;  // only evaluations of the whole table count
      }
      newton_.run(*objective_, settings_, solution_);
      return;
    }
    std::fill(solution_.w.begin(), solution_.w.end(), 0);
    solution_.start = std::numeric_limits<double>::quiet_NaN();
    solution_.objective = nelder_mead_.minimise(
        [this](std::span<const double> w) {
          objective_->evaluate(w, 0, value_);
          if (std::isnan(solution_.start)) solution_.start = value_.primal;
          return value_.primal;
        },
        solution_.w, settings_.evaluations);
    solution_.evaluations = nelder_mead_.evaluations();
    solution_.evaluated_rows = solution_.evaluations * objective_->rows();
    solution_.slope = 0;
  }

  SvmSettings settings_;
  RowPass pass_;
  std::unique_ptr<SvmObjective> objective_, part_;
  SvmNewton newton_;
  NelderMead nelder_mead_;
  SvmValue value_;
  SvmSolution solution_;
  SvmCheck check_;
  std::mt19937_64 random_{1};  ///< the same on all ranks
  bool prepared_ = false;
};

}  // namespace

Result<std::unique_ptr<Analysis>> make_svm(const AnalysisCase& analysis,
                                           const SvmSettings& settings) {
  Result<std::unique_ptr<SvmObjective>> objective =
      SvmObjective::make(analysis, settings.cost, !settings.nelder_mead);
  if (auto* refusal = std::get_if<Unsupported>(&objective)) return std::move(*refusal);
  SvmObjective& whole = *std::get<std::unique_ptr<SvmObjective>>(objective);
  Result<std::unique_ptr<SvmObjective>> part = std::unique_ptr<SvmObjective>();
  if (!settings.nelder_mead)
    part = SvmObjective::make_part(analysis, settings.cost, whole, first_part);
  if (auto* refusal = std::get_if<Unsupported>(&part)) return std::move(*refusal);
  return std::make_unique<Svm>(analysis, settings,
                               std::move(std::get<std::unique_ptr<SvmObjective>>(objective)),
                               std::move(std::get<std::unique_ptr<SvmObjective>>(part)));
}

}  // namespace assay
