// Activations by plain loops in fp64, on row-major tensors.

#include "kernels/activation/problem.hpp"

#include <cmath>
#include <numbers>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Channels are independent of each other: each thread takes whole ones.
class PlainActivation final : public PlainOperation {
 public:
  PlainActivation(const ActivationProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {}

  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t c = 0; c < problem_.shape().ic; ++c) channel(c);
  }

 private:
  static double normal_distribution(double z) {
    return (1 + std::erf(z / std::numbers::sqrt2)) / 2;
  }

  double value(double z) const {
    switch (problem_.function()) {
      case ActivationFunction::identity:
        return z;
      case ActivationFunction::relu:
        return z < 0 ? 0 : z;  // keeps NaN
      case ActivationFunction::sigmoid:
        return 1 / (1 + std::exp(-z));
      case ActivationFunction::tanh:
        return std::tanh(z);
      case ActivationFunction::gelu:
        return z * normal_distribution(z);
      case ActivationFunction::log_sigmoid:
        return (z < 0 ? z : 0 * z) - std::log1p(std::exp(-std::abs(z)));
    }
    return z;
  }

  /// The derivative is computed from y = dst; for gelu from y = src + bias.
  double derivative(double y) const {
    switch (problem_.function()) {
      case ActivationFunction::identity:
        return 1;
      case ActivationFunction::relu:
        return y > 0 ? 1 : 0;
      case ActivationFunction::sigmoid:
        return y * (1 - y);
      case ActivationFunction::tanh:
        return (1 - y) * (1 + y);
      case ActivationFunction::gelu:
        return normal_distribution(y) +
               y * std::exp(-y * y / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      case ActivationFunction::log_sigmoid:
        return 1 - std::exp(y);
    }
    return 1;
  }

  void channel(std::int64_t c) const {
    const double bias = read("bias", c, 1)[0];  // 0 where there is none
    double of_bias = 0;
    for (std::int64_t n = 0; n < problem_.shape().mb; ++n) {
      const std::int64_t first = (n * problem_.shape().ic + c) * plane_;
      if (!problem_.backward()) {
        std::vector<double> z = read("src", first, plane_);
        for (double& element : z) element = value(element + bias);
        write("dst", first, z);
        continue;
      }
      std::vector<double> g = read("diff_dst", first, plane_);
      if (const char* const saved = problem_.of_derivative()) {
        const std::vector<double> y = read(saved, first, plane_);
        for (std::size_t i = 0; i < g.size(); ++i) g[i] *= derivative(y[i] + bias);
        write("diff_src", first, g);
      }
      for (const double element : g) of_bias += element;
    }
    if (problem_.backward() && problem_.bias()) write("diff_bias", c, of_bias);
  }

  ActivationProblem problem_;
  std::int64_t plane_ = problem_.shape().ih * problem_.shape().iw;
};

const Maker add_activation{makers(),
                           problem_kind<ActivationProblem>(),
                           &make_plain<ActivationProblem, PlainActivation, why_not_nchw>,
                           {"direct"}};

}  // namespace
}  // namespace assay::reference
