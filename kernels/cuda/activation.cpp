// Activations, channels innermost. Gradients are summed by the sums of batch normalization, whose
// second sum is not used.

#include "kernels/activation/problem.hpp"

#include "kernels/cuda/activation_items.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Activation final : public OwnOperation {
 public:
  explicit Activation(const ActivationProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        problem_(problem),
        channels_(problem.shape().ic),
        packs_(problem.shape().elements() / width) {
    lay_channels_last();
    const std::int64_t rows = problem.shape().elements() / channels_, groups = channels_ / width;
    rows_ = {rows, channels_, choose_chunk(rows, groups), Divisor(groups)};
    if (problem.backward() && problem.bias())
      add_workspace(static_cast<std::size_t>(sums_size(rows_.chunks(), 2 * channels_)) *
                    sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    const auto* const bias = find<const Value>("bias");
    if (!problem_.backward()) {
      start(Activate<Stored, width>{problem_.function(), find<const Stored>("src"), bias,
                                    rows_.groups, find<Stored>("dst")},
            packs_);
      return;
    }
    const char* const saved = problem_.of_derivative();
    const ActivationTerm<Stored, width> term{
        problem_.function(), saved == nullptr ? nullptr : find<const Stored>(saved),
        find<const Stored>("diff_dst"), bias, find<Stored>("diff_src")};
    auto* const diff_bias = find<Value>("diff_bias");
    if (diff_bias == nullptr) return start(ActivationGradient<Stored, width>{term}, packs_);
    auto* const sums = find<double>("workspace");
    start(ActivationSums<Stored, width>{term, rows_, sums}, rows_.chunks() * (channels_ / width));
    const FewRows left = few(sums, rows_.chunks(), 2 * channels_);
    start(SumStage<Value>{left.from, diff_bias, left.rows, left.columns}, channels_);
  }

  ActivationProblem problem_;
  std::int64_t channels_, packs_;
  NormRows rows_;
};

const Maker add_activation{makers(),
                           problem_kind<ActivationProblem>(),
                           &make_own<ActivationProblem, Activation>,
                           {"direct"}};

}  // namespace
}  // namespace assay::cuda
