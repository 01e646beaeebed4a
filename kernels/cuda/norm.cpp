// Batch normalization, channels innermost: sums of src in stages, then one pass that makes dst of
// it, with addition and rectifier; backward likewise.

#include "kernels/norm/problem.hpp"

#include <algorithm>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/norm_items.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

/// Rows that a thread adds in the precision of the arithmetic: so many that there are threads
/// enough for a large GPU, but no more than the bounds allow (docs/method-norm.md).
std::int64_t chunk_of(std::int64_t rows, std::int64_t groups) {
  return std::clamp<std::int64_t>(rows * groups / 131072, 16, 256);
}

template <class Stored, int width>
class Normalization final : public OwnOperation {
 public:
  explicit Normalization(const NormProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        problem_(problem),
        channels_(problem.shape().ic),
        shape_{problem.shape().per_channel(), channels_,
               chunk_of(problem.shape().per_channel(), channels_ / width)} {
    lay_channels_last();
    // Sums and their totals, and three values of every channel.
    add_workspace(
        static_cast<std::size_t>(sums_size(shape_.chunks(), 2 * channels_) + (2 + 3) * channels_) *
        sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    totals_ = at<double>("workspace");
    sums_ = totals_ + 2 * channels_;
    factor_ = reinterpret_cast<Value*>(sums_ + sums_size(shape_.chunks(), 2 * channels_));
    if (problem_.direction() == NormDirection::backward) return backward();
    const NormFactor<Value> factor = this->factor();
    if (problem_.direction() == NormDirection::forward_training)
      statistics(factor);
    else
      start(factor, channels_);
    start(Normalize<Stored, width>{at<const Stored>("src"), at<const Stored>("addend"), factor_,
                                   at<const Value>("mean"), at<const Value>("shift"),
                                   problem_.fusion() != NormFusion::none, channels_,
                                   at<Stored>("dst")},
          elements());
  }

  std::int64_t elements() const { return shape_.rows * channels_ / width; }
  NormFactor<Value> factor() const {
    return {at<const Value>("scale"), at<const Value>("variance"), norm_epsilon, factor_};
  }

  template <class Term>
  void sum(const Term& term) {
    start(NormSums<Term>{term, shape_, sums_}, shape_.chunks() * (channels_ / width));
    add_up(sums_, shape_.chunks(), 2 * channels_, totals_);
  }

  void statistics(const NormFactor<Value>& factor) {
    const auto* const src = at<const Stored>("src");
    Value* const pivot = factor_ + channels_;
    start(NormPivot<Stored>{src, shape_, pivot}, channels_);
    sum(NormMomentTerm<Stored, width>{src, pivot});
    start(NormMoments<Value>{totals_, pivot, shape_, at<Value>("mean"), at<Value>("variance"),
                             factor},
          channels_);
  }

  void backward() {
    const auto *const src = at<const Stored>("src"), *const diff = at<const Stored>("diff_dst"),
                      *const dst = at<const Stored>("dst");
    const auto* const mean = at<const Value>("mean");
    auto* const passed = at<Stored>("diff_addend");
    Value *const slope = factor_ + channels_, *const offset = slope + channels_;
    sum(NormGradientTerm<Stored, width>{src, dst, diff, mean, passed});
    start(NormSlopes<Value>{totals_, shape_, factor(), at<Value>("diff_scale"),
                            at<Value>("diff_shift"), slope, offset},
          channels_);
    // What passed the rectifier is read again where it was written.
    const bool kept = passed != nullptr;
    start(NormGradients<Stored, width>{src, kept ? nullptr : dst, kept ? passed : diff, mean,
                                       factor_, slope, offset, channels_, at<Stored>("diff_src")},
          elements());
  }

  NormProblem problem_;
  std::int64_t channels_;
  NormRows shape_;
  double *totals_ = nullptr, *sums_ = nullptr;
  Value* factor_ = nullptr;
};

const Maker add_norm{
    makers(), kind_of<NormProblem>(), &make_own<NormProblem, Normalization>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
