// The loss of pixels, channels innermost. Parts of images are summed separately, and their sums are
// added in their order, so that the result does not depend on the threads.

#include "kernels/pixel_loss/problem.hpp"

#include <omp.h>

#include <algorithm>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/pixel_loss_simd.hpp"

namespace assay::native {
namespace {

template <class Value>
class PixelLoss final : public BoundOperation {
 public:
  PixelLoss(const PixelLossProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        shape_(problem.shape()),
        table_(pixel_loss_tables().table<Value>(storage(problem.precision()))),
        threads_(threads),
        pixel_bytes_(shape_.classes *
                     static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))),
        plane_(shape_.ih * shape_.iw),
        parts_((plane_ + pixels_of_part - 1) / pixels_of_part) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "nhwc");
    lay_channels_last(arguments_);
    sums_.resize(static_cast<std::size_t>(shape_.samples * parts_));
    scratch_.resize(static_cast<std::size_t>(threads * 2 * pixels_at_once * shape_.classes));
    counts_.resize(sums_.size() * static_cast<std::size_t>(shape_.classes * shape_.classes));
  }

  void run(Stream&) override {
    const Value by = scale_ == nullptr ? Value(0)
                                       : static_cast<Value>(static_cast<double>(*scale_) /
                                                            static_cast<double>(shape_.samples));
    std::ranges::fill(counts_, 0);
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t part = 0; part < shape_.samples * parts_; ++part) add(part, by);
    const std::int64_t cells = shape_.classes * shape_.classes;
    auto* const losses = find<Value>("losses");
    auto* const confusion = find<std::int32_t>("confusion");
    for (std::int64_t n = 0; n < shape_.samples; ++n) {
      double sum = 0;
      std::fill_n(confusion + n * cells, cells, 0);
      for (std::int64_t part = n * parts_; part < (n + 1) * parts_; ++part) {
        sum += sums_[static_cast<std::size_t>(part)];
        for (std::int64_t i = 0; i < cells; ++i)
          confusion[n * cells + i] += counts_[static_cast<std::size_t>(part * cells + i)];
      }
      losses[n] = static_cast<Value>(sum);
    }
  }

 private:
  static constexpr std::ptrdiff_t pixels_of_part = 4096;

  void add(std::int64_t part, Value by) {
    const std::int64_t n = part / parts_,
                       last = std::min(plane_, (part % parts_ + 1) * pixels_of_part);
    const std::ptrdiff_t thread = omp_get_thread_num(), classes = shape_.classes;
    double sum = 0;
    for (std::int64_t p = part % parts_ * pixels_of_part; p < last; p += pixels_at_once) {
      const std::int64_t first = n * plane_ + p;
      sum += table_.add(logits_ + first * pixel_bytes_, labels_ + first, weights_, classes,
                        std::min<std::int64_t>(pixels_at_once, last - p), by,
                        scratch_.data() + thread * 2 * pixels_at_once * classes,
                        counts_.data() + part * classes * classes,
                        diff_logits_ == nullptr ? nullptr : diff_logits_ + first * pixel_bytes_);
    }
    sums_[static_cast<std::size_t>(part)] = sum;
  }

  PixelLossShape shape_;
  const PixelLossTable<Value>& table_;
  int threads_;
  std::ptrdiff_t pixel_bytes_;
  std::int64_t plane_, parts_;        ///< pixels of an image; parts of it
  std::vector<double> sums_;          ///< of each part
  std::vector<Value> scratch_;        ///< of each thread
  std::vector<std::int32_t> counts_;  ///< of each part
  Argument<const std::byte> logits_{this, "logits"};
  Argument<const std::int32_t> labels_{this, "labels"};
  Argument<const Value> weights_{this, "class_weights"}, scale_{this, "scale"};
  Argument<std::byte> diff_logits_{this, "diff_logits"};
};

const Maker add_pixel_loss{makers(),
                           problem_kind<PixelLossProblem>(),
                           &make_direct<PixelLossProblem, PixelLoss>,
                           {"direct"}};

}  // namespace
}  // namespace assay::native
