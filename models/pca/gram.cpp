// Principal components from the covariance matrix.

#include <fmt/format.h>

#include "core/api/operation.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/analytics/rows.hpp"
#include "models/pca/pca.hpp"

namespace assay {
namespace {

class GramPca final : public Analysis {
 public:
  GramPca(const AnalysisCase& analysis, std::unique_ptr<AnalyticsStep> moments,
          std::unique_ptr<AnalyticsStep> eigh)
      : rows_(analysis.rows),
        d_(static_cast<std::size_t>(analysis.features)),
        mine_(analysis.mine),
        threads_(analysis.steps.threads()),
        seed_(analysis.seed),
        ranks_(analysis.ranks),
        moments_(std::move(moments)),
        eigh_(std::move(eigh)),
        shift_(moments_->device(), moments_->tensor("x"), mine_),
        components_(analysis.features),
        gram_(d_ * d_),
        packed_(d_ + d_ * (d_ + 1) / 2),
        variances_(d_),
        columns_(d_ * d_) {
    resolution_ = compute_resolution(storage(analysis.precision), false, moments_->execution());
  }

  Device& device() override { return moments_->device(); }

  void load(const DataTable& table) override {
    load_rows(table, mine_, device(), moments_->tensor("x"), nullptr, threads_,
              ranks_.communicator());
    if (!prepared_) {
      shift_.prepare(ranks_);
      ranks_.prepare(packed_);
    }
    prepared_ = true;
  }

  void poison() override {
    components_.poison();
    moments_->poison_outputs();
    eigh_->poison_outputs();
  }

  void run() override {
    const std::vector<double>& shift = shift_.find(ranks_);
    moments_->write("shift", shift);
    moments_->run();
    moments_->read("sums", std::span(packed_).first(d_));
    moments_->read("gram", gram_);
    std::size_t at = d_;
    for (std::size_t i = 0; i < d_; ++i)
      for (std::size_t j = 0; j <= i; ++j) packed_[at++] = gram_[i * d_ + j];
    ranks_.sum(packed_);

    // With s = sum (x - shift), the sum of squares about the mean is the sum about the shift minus
    // s s^T / n. The shift is near the mean, so hardly anything cancels.
    const auto n = static_cast<double>(rows_);
    at = d_;
    for (std::size_t i = 0; i < d_; ++i) {
      components_.mean[i] = shift[i] + packed_[i] / n;
      for (std::size_t j = 0; j <= i; ++j)
        gram_[i * d_ + j] = gram_[j * d_ + i] =
            (packed_[at++] - packed_[i] * packed_[j] / n) / (n - 1);
    }
    eigh_->write("a", gram_);
    eigh_->run();
    eigh_->read("w", variances_);
    eigh_->read("v", columns_);
    set_ascending(components_, variances_, columns_);
  }

  Verification verify(const DataTable& table, const CaseClaims& claims) override {
    return verify_components(components_, TableClaims(claims.settings), table, mine_,
                             compute_claimed_resolution(claims, moments_->execution()), ranks_,
                             threads_, ++seed_, &expected_);
  }
  ExpectedMetrics expected_metrics() const override { return expected_; }

  /// Counts the eigenvectors of one matrix, although every rank computes them.
  StepWork done() const override {
    StepWork all = moments_->done();
    all.flops += eigh_->done().flops / ranks_.size();
    return all;
  }
  double loaded_bytes() const override {
    return static_cast<double>(moments_->tensor("x").spec().bytes);
  }

  Execution execution() const override {
    Execution all = moments_->execution();
    const Execution solver = eigh_->execution();
    all.implementation =
        fmt::format("moments: {}; eigh: {}", all.implementation, solver.implementation);
    all.algorithm = "gram";
    all.algorithmic_flops = 0;
    return all;
  }

  std::map<std::string, Metric> metrics() const override {
    return make_metrics(
        components_,
        error_of_components(static_cast<double>(rows_), static_cast<double>(d_), resolution_),
        resolution_);
  }

 private:
  std::int64_t rows_;
  std::size_t d_;
  RowRange mine_;
  int threads_;
  std::uint64_t seed_;
  RankCalls ranks_;
  std::unique_ptr<AnalyticsStep> moments_, eigh_;
  Shift shift_;
  Resolution resolution_;
  Components components_;
  ExpectedMetrics expected_;
  std::vector<double> gram_, packed_, variances_, columns_;
  bool prepared_ = false;
};

}  // namespace

LinalgProblem make_moments_problem(std::int64_t rows, std::int64_t features, Precision precision) {
  return {{LinalgKernel::moments, rows, features}, precision};
}

LinalgProblem make_eigh_problem(std::int64_t features) {
  return {{LinalgKernel::eigh, 0, features}, Precision::fp64};
}

Result<std::unique_ptr<Analysis>> gram_pca(const AnalysisCase& analysis) {
  Result<std::unique_ptr<AnalyticsStep>> moments = analysis.steps.make_own(
      make_moments_problem(analysis.mine.count, analysis.features, analysis.precision));
  if (auto* refusal = std::get_if<Unsupported>(&moments)) return std::move(*refusal);
  Result<std::unique_ptr<AnalyticsStep>> eigh =
      analysis.steps.make(make_eigh_problem(analysis.features));
  if (auto* refusal = std::get_if<Unsupported>(&eigh)) return std::move(*refusal);
  return std::make_unique<GramPca>(analysis,
                                   std::move(std::get<std::unique_ptr<AnalyticsStep>>(moments)),
                                   std::move(std::get<std::unique_ptr<AnalyticsStep>>(eigh)));
}

}  // namespace assay
