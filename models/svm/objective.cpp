#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/api/operation.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/svm/svm.hpp"

namespace assay {

namespace {

using ObjectiveResult = Result<std::unique_ptr<SvmObjective>>;

/// With fewer rows than this for each unknown, a part does not represent the table.
constexpr std::int64_t least_rows_of_part = 16;

/// Makes the objective of the first `rows` rows of this rank. `all`: number of these rows over all
/// ranks. `shared`: their tensors, if another objective already has them.
ObjectiveResult make_of_rows(const AnalysisCase& analysis, std::int64_t rows, std::int64_t all,
                             double cost, bool with_hessian,
                             const std::map<std::string, Tensor*>& shared) {
  Result<std::unique_ptr<AnalyticsStep>> hinge = analysis.steps.make_own(
      make_hinge_problem(rows, analysis.features, analysis.precision), shared);
  if (auto* refusal = std::get_if<Unsupported>(&hinge)) return std::move(*refusal);
  AnalyticsStep& first = *std::get<std::unique_ptr<AnalyticsStep>>(hinge);
  Result<std::unique_ptr<AnalyticsStep>> hessian = std::unique_ptr<AnalyticsStep>();
  if (with_hessian)
    hessian =
        analysis.steps.make_own(make_hessian_problem(rows, analysis.features, analysis.precision),
                                {{"x", &first.tensor("x")}, {"s", &first.tensor("s")}});
  if (auto* refusal = std::get_if<Unsupported>(&hessian)) return std::move(*refusal);
  return std::make_unique<SvmObjective>(
      analysis, static_cast<double>(all), cost,
      std::move(std::get<std::unique_ptr<AnalyticsStep>>(hinge)),
      std::move(std::get<std::unique_ptr<AnalyticsStep>>(hessian)));
}

}  // namespace

LinalgProblem make_hinge_problem(std::int64_t rows, std::int64_t features, Precision precision) {
  return {{LinalgKernel::hinge, rows, features}, precision};
}

LinalgProblem make_hessian_problem(std::int64_t rows, std::int64_t features, Precision precision) {
  return {{LinalgKernel::hinge_hessian, rows, features}, precision};
}

ObjectiveResult SvmObjective::make(const AnalysisCase& analysis, double cost, bool with_hessian) {
  return make_of_rows(analysis, analysis.mine.count, analysis.rows, cost, with_hessian, {});
}

ObjectiveResult SvmObjective::make_part(const AnalysisCase& analysis, double cost,
                                        SvmObjective& whole, std::int64_t part) {
  std::int64_t all = 0;  // the same decision on every rank
  for (int rank = 0; rank < analysis.ranks.size(); ++rank) {
    const std::int64_t rows = share_rows(analysis.rows, rank, analysis.ranks.size()).count / part;
    if (rows < 1) return std::unique_ptr<SvmObjective>();
    all += rows;
  }
  if (all < least_rows_of_part * (analysis.features + 1)) return std::unique_ptr<SvmObjective>();
  const double weight = static_cast<double>(analysis.rows) / static_cast<double>(all);
  return make_of_rows(analysis, analysis.mine.count / part, all, cost * weight, true,
                      {{"x", &whole.x()}, {"y", &whole.y()}});
}

SvmObjective::SvmObjective(const AnalysisCase& analysis, double rows, double cost,
                           std::unique_ptr<AnalyticsStep> hinge,
                           std::unique_ptr<AnalyticsStep> hessian)
    : d_(analysis.features),
      rows_(rows),
      cost_(cost),
      ranks_(analysis.ranks),
      hinge_(std::move(hinge)),
      hessian_(std::move(hessian)),
      sums_(dimensions() + 4),
      slope_(1) {
  if (hessian_ == nullptr) return;
  curvature_.resize(dimensions() * dimensions());
  packed_.resize(dimensions() * (dimensions() + 1) / 2);
}

void SvmObjective::prepare() {
  ranks_.prepare(sums_);
  if (hessian_ != nullptr) ranks_.prepare(packed_);
}

void SvmObjective::poison() {
  hinge_->poison_outputs();
  if (hessian_ != nullptr) hessian_->poison_outputs();
}

void SvmObjective::evaluate(std::span<const double> w, double slope, SvmValue& value) {
  slope_[0] = slope;
  hinge_->write("w", w);
  hinge_->write("slope", slope_);
  hinge_->run();
  const std::span<double> all(sums_);
  hinge_->read("losses", all.first(4));
  hinge_->read("direction", all.subspan(4));
  ranks_.sum(all);

  const double hinge_sum = sums_[0], s = sums_[1], sz = sums_[2], ss = sums_[3];
  double norm = 0, dual_norm = 0;  // of w, and of sum_i C s_i y_i (x_i, 1)
  value.gradient.resize(w.size());
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double along = cost_ * sums_[4 + j];
    norm += w[j] * w[j];
    dual_norm += along * along;
    value.gradient[j] = w[j] - along;
  }
  value.primal = norm / 2 + cost_ * hinge_sum;
  value.slack = s;
  value.smooth = slope > 0 ? norm / 2 + cost_ * (sz - ss / (2 * slope)) : value.primal;
  // D(t C s) = t C sum s - t^2 ||...||^2 / 2 is largest at t = C sum s / ||...||^2.
  const double t = dual_norm > 0 ? std::min(1.0, cost_ * s / dual_norm) : 1;
  value.dual = t * cost_ * s - t * t * dual_norm / 2;
}

const std::vector<double>& SvmObjective::curvature() {
  hessian_->run();
  hessian_->read("h", curvature_);
  const std::size_t width = dimensions();
  std::size_t at = 0;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j <= i; ++j) packed_[at++] = curvature_[i * width + j];
  ranks_.sum(packed_);
  at = 0;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      curvature_[i * width + j] = curvature_[j * width + i] = packed_[at++];
  return curvature_;
}

SvmHessian SvmObjective::last_hessian(const SvmSolution& solution, std::uint64_t seed) const {
  if (solution.steps == 0) return {};
  SvmHessian last = solution.hessian;
  last.h = curvature_;
  std::mt19937_64 random(seed);
  // Scales each column of (x, 1) to norm 1, so that features of any scale have the same weight.
  for (std::size_t j = 0; j < dimensions(); ++j) {
    const double diagonal = last.h[j * dimensions() + j];
    const double scale = diagonal > 0 && std::isfinite(diagonal) ? 1 / std::sqrt(diagonal) : 1;
    last.probe.push_back(random() % 2 == 0 ? scale : -scale);
  }
  return last;
}

Execution SvmObjective::execution() const {
  Execution all = hinge_->execution();
  all.implementation = "hinge: " + all.implementation;
  if (hessian_ != nullptr)
    all.implementation += fmt::format("; hessian: {}", hessian_->execution().implementation);
  all.algorithmic_flops = 0;
  return all;
}

}  // namespace assay
