#include "kernels/pixel_loss/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/pixel_loss_items.hpp"

namespace assay::cuda {
namespace {

template <class Stored>
class PixelLoss final : public OwnOperation {
 public:
  explicit PixelLoss(const PixelLossProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        shape_(problem.shape()),
        plane_(shape_.ih * shape_.iw),
        parts_((plane_ + pixels_of_thread - 1) / pixels_of_thread),
        losses_(sums_size(parts_, shape_.samples)) {
    lay_channels_last();
    const std::int64_t cells = shape_.classes * shape_.classes;
    add_workspace(static_cast<std::size_t>(losses_ + sums_size(parts_, shape_.samples * cells)) *
                  sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    const auto [samples, classes, ih, iw] = shape_;
    auto* const losses = find<double>("workspace");
    auto* const counts = losses + losses_;
    if (classes == known && plane_ % widest<Stored> == 0)
      start_pixels<known>(losses, counts);
    else
      start_pixels<0>(losses, counts);
    add_up(losses, parts_, samples, find<Value>("losses"));
    add_up(counts, parts_, samples * classes * classes, find<std::int32_t>("confusion"));
  }

  static constexpr int known = 3;  ///< classes of the network for segmentation (models/climate)

  template <int classes>
  void start_pixels(double* losses, double* counts) {
    start(LossOfPixels<Stored, classes>{find<const Stored>("logits"),
                                        find<const std::int32_t>("labels"),
                                        find<const Value>("class_weights"),
                                        find<const Value>("scale"), shape_.samples, shape_.classes,
                                        plane_, losses, counts, find<Stored>("diff_logits")},
          parts_ * shape_.samples);
  }

  PixelLossShape shape_;
  std::int64_t plane_, parts_;
  std::int64_t losses_;  ///< numbers of the workspace before the counts
};

const Maker add_pixel_loss{
    makers(), problem_kind<PixelLossProblem>(), &make_own<PixelLossProblem, PixelLoss>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
