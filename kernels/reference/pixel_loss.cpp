// The loss of pixels by plain loops in fp64, on row-major tensors.

#include "kernels/pixel_loss/problem.hpp"

#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

class PlainPixelLoss final : public PlainOperation {
 public:
  PlainPixelLoss(const PixelLossProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {}

  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t n = 0; n < problem_.shape().samples; ++n) sample(n);
  }

 private:
  /// Writes loss, counts and gradients of a sample.
  void sample(std::int64_t n) const {
    const auto [samples, classes, ih, iw] = problem_.shape();
    const std::int64_t plane = ih * iw;
    const bool training = problem_.pass() == PixelLossPass::training;
    std::vector<double> x = read("logits", n * classes * plane, classes * plane),
                        counts(place(classes * classes));
    const std::vector<double> labels = read("labels", n * plane, plane),
                              weights = read("class_weights", 0, classes);
    const double scale = read("scale", 0, 1)[0];
    double loss = 0;
    for (std::int64_t p = 0; p < plane; ++p) {
      const auto at = [&](std::int64_t c) -> double& { return x[place(c * plane + p)]; };
      const auto y = static_cast<std::int64_t>(labels[place(p)]);
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c) best = at(c) > at(best) ? c : best;
      const double largest = at(best), of_label = at(y), weight = weights[place(y)];
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += at(c) = std::exp(at(c) - largest);
      loss += weight * (std::log(sum) + largest - of_label);
      counts[place(y * classes + best)] += 1;
      for (std::int64_t c = 0; c < classes; ++c)
        at(c) = scale * weight * (at(c) / sum - (c == y ? 1 : 0)) / static_cast<double>(samples);
    }
    write("losses", n, loss);
    if (training) write("diff_logits", n * classes * plane, x);
    write("confusion", n * classes * classes, counts);
  }

  PixelLossProblem problem_;
};

const Maker add_pixel_loss{makers(),
                           problem_kind<PixelLossProblem>(),
                           &make_plain<PixelLossProblem, PlainPixelLoss, why_not_nchw>,
                           {"direct"}};

}  // namespace
}  // namespace assay::reference
