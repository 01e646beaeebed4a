#include "kernels/loss/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/loss_items.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

template <class Stored>
class Loss final : public OwnOperation {
 public:
  explicit Loss(const LossProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        shape_(problem.shape()),
        parts_((shape_.samples + loss_rows - 1) / loss_rows) {
    add_workspace(static_cast<std::size_t>(shape_.samples) * sizeof(LossSoftmax<Value>) +
                  static_cast<std::size_t>(sums_size(parts_, shape_.classes)) * sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    const auto [samples, classes, smoothing, biased] = shape_;
    auto* const softmax = find<LossSoftmax<Value>>("workspace");
    const LossOfSample<Stored> sample{find<const Stored>("logits"),
                                      find<const Value>("bias"),
                                      find<const std::int32_t>("labels"),
                                      classes,
                                      smoothing,
                                      find<Value>("losses"),
                                      find<std::int32_t>("correct"),
                                      softmax};
    start(sample, samples * warp_lanes);
    const auto* const scale = find<const Value>("scale");
    if (scale == nullptr) return;  // validation
    auto* const sums = reinterpret_cast<double*>(softmax + samples);
    if (classes % widest<Stored> == 0)
      start_gradients<widest<Stored>>(sample, scale, sums);
    else
      start_gradients<1>(sample, scale, sums);
    if (biased) add_up(sums, parts_, classes, find<Value>("diff_bias"));
  }

  template <int width>
  void start_gradients(const LossOfSample<Stored>& sample, const Value* scale, double* sums) {
    start(LossGradients<Stored, width>{sample, scale, shape_.samples, find<Stored>("diff_logits"),
                                       sums},
          parts_ * (shape_.classes / width));
  }

  LossShape shape_;
  std::int64_t parts_;
};

const Maker add_loss{
    makers(), problem_kind<LossProblem>(), &make_own<LossProblem, Loss>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
