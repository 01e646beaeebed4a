// Principal components from a tall-skinny QR factorization (Demmel, Grigori, Hoemmen and Langou,
// Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Sci. Comput. 34,
// 2012). The columns are [1, x - shift], so the first row of R contains the sums, and the rest of R
// is the R factor of the table about its mean. Its singular values are the roots of the variances.
// Nothing is squared, so small variances keep their digits.

#include <fmt/format.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "core/api/operation.hpp"
#include "kernels/linalg/problem.hpp"
#include "models/analytics/rows.hpp"
#include "models/pca/pca.hpp"

namespace assay {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows that are factored at once, together with the R of the earlier rows.
constexpr std::int64_t block_rows = 2048;

class TsqrPca final : public Analysis {
 public:
  TsqrPca(const AnalysisCase& analysis, std::unique_ptr<AnalyticsStep> block,
          std::unique_ptr<AnalyticsStep> pair)
      : rows_(analysis.rows),
        d_(analysis.features),
        mine_(analysis.mine),
        threads_(analysis.steps.threads()),
        seed_(analysis.seed),
        ranks_(analysis.ranks),
        block_(std::move(block)),
        pair_(std::move(pair)),
        x_(block_->device().allocate(plain_tensor("x", Role::input, storage(analysis.precision),
                                                  {analysis.mine.count, analysis.features}))),
        shift_(block_->device(), *x_, mine_),
        components_(analysis.features),
        r_(static_cast<std::size_t>((d_ + 1) * (d_ + 1))),
        other_(r_.size()),
        decoded_(static_cast<std::size_t>(d_)),
        solver_(d_, d_, Eigen::ComputeThinV) {
    resolution_ = compute_resolution(storage(analysis.precision), true, block_->execution());
  }

  Device& device() override { return block_->device(); }

  void load(const DataTable& table) override {
    load_rows(table, mine_, device(), *x_, nullptr, threads_, ranks_.communicator());
    if (prepared_) return;
    shift_.prepare(ranks_);
    ranks_.prepare(r_);
    prepared_ = true;
  }

  void poison() override {
    components_.poison();
    block_->poison_outputs();
    pair_->poison_outputs();
  }

  void run() override {
    const std::vector<double>& shift = shift_.find(ranks_);
    factor_rows(shift);
    combine_ranks();
    const std::int64_t width = d_ + 1;
    const auto n = static_cast<double>(rows_);
    for (std::int64_t j = 0; j < d_; ++j)
      components_.mean[static_cast<std::size_t>(j)] =
          shift[static_cast<std::size_t>(j)] + r_[static_cast<std::size_t>(j + 1)] / std::sqrt(n);
    const Eigen::Map<const Matrix> all(r_.data(), width, width);
    solver_.compute(all.bottomRightCorner(d_, d_));
    ++decompositions_;
    // Ascending, as eigh gives them.
    std::vector<double> variances(static_cast<std::size_t>(d_)),
        columns(variances.size() * variances.size());
    for (std::int64_t j = 0; j < d_; ++j) {
      const double root = solver_.singularValues()[d_ - 1 - j];
      variances[static_cast<std::size_t>(j)] = root * root / (n - 1);
      for (std::int64_t i = 0; i < d_; ++i)
        columns[static_cast<std::size_t>(i * d_ + j)] = solver_.matrixV()(i, d_ - 1 - j);
    }
    set_ascending(components_, variances, columns);
  }

  Verification verify(const DataTable& table, const CaseClaims& claims) override {
    return verify_components(components_, TableClaims(claims.settings), table, mine_,
                             compute_claimed_resolution(claims, block_->execution()), ranks_,
                             threads_, ++seed_, &expected_);
  }
  ExpectedMetrics expected_metrics() const override { return expected_; }

  /// Counts the table's rows in the factorizations, without the other rows of their blocks, and one
  /// final triangle for all ranks.
  StepWork done() const override {
    const auto d = static_cast<double>(d_), width = d + 1;
    const double triangle = 12 * d * d * d - 2 * width * width * width / 3;
    return {2 * width * width * factored_rows_ + triangle * decompositions_ / ranks_.size(),
            factored_rows_ * d * static_cast<double>(size_of(x_->spec().type))};
  }
  double loaded_bytes() const override { return static_cast<double>(x_->spec().bytes); }

  Execution execution() const override {
    Execution all = block_->execution();
    all.implementation = fmt::format("qr: {}; singular values: Eigen", all.implementation);
    all.algorithm = "tsqr";
    all.algorithmic_flops = 0;
    all.storage = name(x_->spec().type);
    return all;
  }

  std::map<std::string, Metric> metrics() const override {
    return make_metrics(
        components_,
        error_of_components(static_cast<double>(rows_), static_cast<double>(d_), resolution_),
        resolution_);
  }

 private:
  /// Computes the R of this rank's rows: factors each block together with the R of the earlier
  /// blocks.
  void factor_rows(const std::vector<double>& shift) {
    const std::int64_t width = d_ + 1;
    auto* const stack = static_cast<double*>(block_->tensor("x").data());
    auto* const r = static_cast<double*>(block_->tensor("r").data());
    std::fill(r_.begin(), r_.end(), 0);  // of no rows
    for (std::int64_t first = 0; first < mine_.count; first += block_rows) {
      std::copy(r_.begin(), r_.end(), stack);
      double* to = stack + width * width;
      double stacked = 0;
      for (std::int64_t i = 0; i < block_rows; ++i, to += width) {
        const bool within = first + i < mine_.count;
        to[0] = within ? 1 : 0;
        stacked += to[0];
        if (within)
          copy_row(first + i, shift, to + 1);
        else
          std::fill(to + 1, to + width, 0.0);  // rows of zeros change nothing
      }
      block_->run();
      factored_rows_ += stacked;
      block_->device().stream().wait();
      std::copy_n(r, r_.size(), r_.begin());
    }
  }

  void copy_row(std::int64_t row, const std::vector<double>& shift, double* to) {
    const DataType type = x_->spec().type;
    decode(type,
           static_cast<const std::byte*>(x_->data()) +
               static_cast<std::size_t>(row * d_) * size_of(type),
           decoded_);
    for (std::int64_t j = 0; j < d_; ++j)
      to[j] = decoded_[static_cast<std::size_t>(j)] - shift[static_cast<std::size_t>(j)];
  }

  /// A binary tree: in each pair of ranks, the first one takes the other one's R. Rank 0's final R
  /// is for all ranks.
  void combine_ranks() {
    HostStream stream;
    Communicator& ranks = ranks_.communicator();
    for (int step = 1; step < ranks_.size(); step *= 2) {
      const int rank = ranks_.rank(), other = rank ^ step;
      if (rank % step != 0 || other >= ranks_.size()) continue;
      const bool sends = rank > other;
      const Buffer buffer{sends ? r_.data() : other_.data(), std::ssize(r_), DataType::fp64};
      Request request =
          sends ? ranks.send(buffer, other, 0, stream) : ranks.receive(buffer, other, 0, stream);
      ranks.wait(request);
      if (sends) break;
      auto* const stack = static_cast<double*>(pair_->tensor("x").data());
      std::copy(r_.begin(), r_.end(), stack);
      std::copy(other_.begin(), other_.end(), stack + r_.size());
      pair_->run();
      pair_->read("r", r_);
    }
    ranks_.broadcast(r_);
  }

  std::int64_t rows_, d_;
  RowRange mine_;
  int threads_;
  std::uint64_t seed_;
  RankCalls ranks_;
  std::unique_ptr<AnalyticsStep> block_, pair_;
  std::unique_ptr<Tensor> x_;
  Shift shift_;
  Resolution resolution_;
  Components components_;
  ExpectedMetrics expected_;
  std::vector<double> r_, other_, decoded_;
  Eigen::BDCSVD<Matrix> solver_;
  double factored_rows_ = 0, decompositions_ = 0;  ///< in all runs
  bool prepared_ = false;
};

}  // namespace

LinalgProblem make_qr_problem(std::int64_t features) {
  const std::int64_t width = features + 1;
  return {{LinalgKernel::qr, width + block_rows, width}, Precision::fp64};
}

Result<std::unique_ptr<Analysis>> tsqr_pca(const AnalysisCase& analysis) {
  const Result<Device*> device = analysis.steps.device();
  if (const auto* refusal = std::get_if<Unsupported>(&device)) return *refusal;
  if (std::get<Device*>(device)->name() != "cpu")
    return Unsupported{"tsqr stacks blocks of rows in host memory. Use --device cpu."};
  const std::int64_t width = analysis.features + 1;
  Result<std::unique_ptr<AnalyticsStep>> block =
      analysis.steps.make(make_qr_problem(analysis.features));
  if (auto* refusal = std::get_if<Unsupported>(&block)) return std::move(*refusal);
  Result<std::unique_ptr<AnalyticsStep>> pair =
      analysis.steps.make(LinalgProblem({LinalgKernel::qr, 2 * width, width}, Precision::fp64));
  if (auto* refusal = std::get_if<Unsupported>(&pair)) return std::move(*refusal);
  return std::make_unique<TsqrPca>(analysis,
                                   std::move(std::get<std::unique_ptr<AnalyticsStep>>(block)),
                                   std::move(std::get<std::unique_ptr<AnalyticsStep>>(pair)));
}

}  // namespace assay
