// The update of parameters: one pass for the norms of all tensors, and one that updates them.

#include "kernels/update/problem.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/update_simd.hpp"

namespace assay::native {
namespace {

/// Parameters of one tensor that a thread takes at once. Their squares are added in the precision
/// of the arithmetic, and these sums in fp64, in their order; so the bits do not depend on the
/// threads.
constexpr std::int64_t block = 1024;

template <class Value>
class Update final : public BoundOperation {
 public:
  Update(const UpdateProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        loop_(find_loop(problem.shape().rule)),
        table_(update_tables().table<Value>(storage(problem.precision()))),
        threads_(threads) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "rows");
    std::int64_t begin = 0;
    for (std::size_t t = 0; t < problem.shape().tensors.size(); ++t) {
      const std::int64_t count = problem.shape().tensors[t].elements;
      for (std::int64_t first = 0; first < count; first += block)
        blocks_.push_back({t, begin + first, std::min(block, count - first)});
      begin += count;
    }
    sums_.resize(blocks_.size());
    stale_.resize(blocks_.size());
    of_tensor_.resize(problem.shape().tensors.size());
    factors_.resize(problem.shape().tensors.size());
  }

  void run(Stream&) override {
    const auto count = static_cast<std::ptrdiff_t>(blocks_.size());
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const Block& part = blocks_[static_cast<std::size_t>(i)];
      UpdateSums& sums = sums_[static_cast<std::size_t>(i)] = {};
      table_.sums(gradient_ + part.begin, weights_ + part.begin, part.count, sums);
    }
    const UpdateSums total = add_up();
    const bool finite = total.not_finite == 0;
    if (finite && problem_.shape().rule == UpdateRule::lamb) trust();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::ptrdiff_t i = 0; i < count; ++i)
      stale_[static_cast<std::size_t>(i)] = update(blocks_[static_cast<std::size_t>(i)], finite);
    norms_[0] = std::abs(static_cast<double>(*unscale_)) * std::sqrt(total.gradient);
    norms_[1] = std::sqrt(total.weights);
    counts_[0] = total.not_finite;
    counts_[1] = total.zeros;
    counts_[2] = 0;
    for (const std::ptrdiff_t stale : stale_) counts_[2] += static_cast<double>(stale);
  }

 private:
  struct Block {
    std::size_t tensor;
    std::int64_t begin, count;
  };

  /// Adds up the sums of all blocks, and computes the factors of all tensors.
  UpdateSums add_up() {
    std::fill(of_tensor_.begin(), of_tensor_.end(), UpdateSums());
    UpdateSums total;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      UpdateSums& tensor = of_tensor_[blocks_[i].tensor];
      tensor.gradient += sums_[i].gradient;
      tensor.weights += sums_[i].weights;
      total.not_finite += sums_[i].not_finite;
      total.zeros += sums_[i].zeros;
    }
    const double unscale = static_cast<double>(*unscale_);
    for (std::size_t t = 0; t < of_tensor_.size(); ++t) {
      total.gradient += of_tensor_[t].gradient;
      total.weights += of_tensor_[t].weights;
      const UpdateStep<double> factors = update_factors(
          problem_.shape(), problem_.shape().tensors[t], static_cast<double>(*rate_), unscale,
          std::abs(unscale) * std::sqrt(of_tensor_[t].gradient), std::sqrt(of_tensor_[t].weights),
          step_ == nullptr ? 1 : static_cast<double>(*step_));
      factors_[t] = factors.template rounded<Value>();
    }
    return total;
  }

  /// Multiplies lamb's rates by the factors of the tensors.
  void trust() {
    const auto count = static_cast<std::ptrdiff_t>(blocks_.size());
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const Block& part = blocks_[static_cast<std::size_t>(i)];
      Value r[block];
      table_.directions(gradient_ + part.begin, part.count, factors_[part.tensor],
                        weights_ + part.begin, velocity_ + part.begin, second_ + part.begin, r);
      UpdateSums& sums = sums_[static_cast<std::size_t>(i)] = {};
      table_.sums(r, r, part.count, sums);
    }
    std::vector<double> squares(factors_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) squares[blocks_[i].tensor] += sums_[i].weights;
    for (std::size_t t = 0; t < factors_.size(); ++t)
      factors_[t].of_velocity =
          static_cast<Value>(static_cast<double>(*rate_) *
                             lamb_trust(problem_.shape().tensors[t],
                                        std::sqrt(of_tensor_[t].weights), std::sqrt(squares[t])));
  }

  std::ptrdiff_t update(const Block& part, bool finite) const {
    void* const stored = stored_ == nullptr ? nullptr : stored_ + 2 * part.begin;
    if (finite)
      return table_.update[static_cast<int>(loop_)](
          gradient_ + part.begin, part.count, factors_[part.tensor], weights_ + part.begin,
          velocity_ + part.begin, second_ == nullptr ? nullptr : second_ + part.begin, stored);
    if (stored != nullptr) table_.store(weights_ + part.begin, part.count, stored);
    return 0;
  }

  UpdateProblem problem_;
  UpdateLoop loop_;
  const UpdateTable<Value>& table_;
  int threads_;
  std::vector<Block> blocks_;
  std::vector<UpdateSums> sums_, of_tensor_;
  std::vector<std::ptrdiff_t> stale_;
  std::vector<UpdateStep<Value>> factors_;
  Argument<const Value> gradient_{this, "gradient"}, rate_{this, "rate"}, unscale_{this, "unscale"},
      step_{this, "step"};
  Argument<Value> weights_{this, "weights"}, velocity_{this, "velocity"}, second_{this, "second"};
  Argument<std::byte> stored_{this, "stored"};
  Argument<double> norms_{this, "norms"}, counts_{this, "counts"};
};

const Maker add_update{
    makers(), problem_kind<UpdateProblem>(), &make_direct<UpdateProblem, Update>, {"direct"}};

}  // namespace
}  // namespace assay::native
