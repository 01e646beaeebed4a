// Softmax cross-entropy by plain loops in fp64, on row-major tensors.

#include "kernels/loss/problem.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Samples are independent of each other: each thread takes whole ones.
class PlainLoss final : public PlainOperation {
 public:
  PlainLoss(const LossProblem& problem, int threads)
      : PlainOperation(problem, threads), problem_(problem) {}

  void run(Stream&) override {
    const auto classes = place(problem_.shape().classes);
    std::vector<double> bias(classes), of_bias(classes);
    if (problem_.shape().biased) bias = read("bias", 0, problem_.shape().classes);
#pragma omp parallel num_threads(threads_)
    {
      std::vector<double> part(classes);
#pragma omp for schedule(static)
      for (std::int64_t n = 0; n < problem_.shape().samples; ++n) sample(n, bias, part);
#pragma omp critical(assay_loss_bias)
      for (std::size_t c = 0; c < classes; ++c) of_bias[c] += part[c];
    }
    if (problem_.pass() == LossPass::training && problem_.shape().biased)
      write("diff_bias", 0, of_bias);
  }

 private:
  void sample(std::int64_t n, const std::vector<double>& bias, std::vector<double>& of_bias) const {
    const auto [samples, classes, smoothing, biased] = problem_.shape();
    std::vector<double> x = read("logits", n * classes, classes);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += bias[c];
    const auto largest = std::max_element(x.begin(), x.end());  // the first of equal ones
    const double label = read("labels", n, 1)[0], most = *largest;
    const auto y = static_cast<std::size_t>(label);
    double sum = 0, total = 0;
    for (const double value : x) {
      sum += std::exp(value - most);
      total += value;
    }
    const double part = smoothing / static_cast<double>(classes),
                 loss = most + std::log(sum) - (1 - smoothing) * x[y] - part * total,
                 correct = largest - x.begin() == static_cast<std::ptrdiff_t>(y) ? 1 : 0;
    write("losses", n, loss);
    write("correct", n, correct);
    if (problem_.pass() != LossPass::training) return;
    const double by = read("scale", 0, 1)[0] / static_cast<double>(samples);
    for (std::size_t c = 0; c < x.size(); ++c) {
      x[c] = by * (std::exp(x[c] - most) / sum - (c == y ? 1 - smoothing : 0) - part);
      of_bias[c] += x[c];
    }
    write("diff_logits", n * classes, x);
  }

  LossProblem problem_;
};

const Maker add_loss{
    makers(), problem_kind<LossProblem>(), &make_plain<LossProblem, PlainLoss>, {"direct"}};

}  // namespace
}  // namespace assay::reference
