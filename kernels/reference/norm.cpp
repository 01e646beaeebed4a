// Batch normalization by plain loops in fp64, on row-major tensors.

#include "kernels/norm/problem.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Channels are independent of each other: each thread takes whole ones.
class PlainNorm final : public PlainOperation {
 public:
  PlainNorm(const NormProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {}

  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t c = 0; c < problem_.shape().ic; ++c)
      problem_.direction() == NormDirection::backward ? backward(c) : forward(c);
  }

 private:
  double of_channel(const char* name, std::int64_t c) const { return read(name, c, 1)[0]; }

  /// Calls body(first element of the channel in an image) for all images.
  template <class Body>
  void planes(std::int64_t c, const Body& body) const {
    for (std::int64_t n = 0; n < problem_.shape().mb; ++n)
      body((n * problem_.shape().ic + c) * plane_);
  }

  void forward(std::int64_t c) const {
    double mean = of_channel("mean", c), variance = of_channel("variance", c);
    if (problem_.direction() == NormDirection::forward_training) {
      const double m = static_cast<double>(problem_.shape().per_channel());
      mean = variance = 0;
      planes(c, [&](std::int64_t first) {
        for (const double x : read("src", first, plane_)) mean += x / m;
      });
      planes(c, [&](std::int64_t first) {
        for (const double x : read("src", first, plane_)) variance += (x - mean) * (x - mean) / m;
      });
      write("mean", c, mean);
      write("variance", c, variance);
    }
    const double a = of_channel("scale", c) / std::sqrt(variance + norm_epsilon),
                 shift = of_channel("shift", c);
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_),
                                addend = read("addend", first, plane_);
      std::vector<double> y(x.size());
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = a * (x[i] - mean) + shift + addend[i];
        if (problem_.fusion() != NormFusion::none) y[i] = std::max(y[i], 0.0);
      }
      write("dst", first, y);
    });
  }

  std::vector<double> gradients(std::int64_t first) const {
    std::vector<double> g = read("diff_dst", first, plane_);
    if (problem_.fusion() == NormFusion::none) return g;
    const std::vector<double> dst = read("dst", first, plane_);
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!(dst[i] > 0)) g[i] = 0;
    return g;
  }

  void backward(std::int64_t c) const {
    const double m = static_cast<double>(problem_.shape().per_channel()),
                 mean = of_channel("mean", c),
                 inverse = 1 / std::sqrt(of_channel("variance", c) + norm_epsilon),
                 a = of_channel("scale", c) * inverse;
    double of_scale = 0, of_shift = 0;
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_), g = gradients(first);
      for (std::size_t i = 0; i < x.size(); ++i) {
        of_shift += g[i];
        of_scale += g[i] * (x[i] - mean) * inverse;
      }
      if (problem_.fusion() == NormFusion::add_relu) write("diff_addend", first, g);
    });
    write("diff_scale", c, of_scale);
    write("diff_shift", c, of_shift);
    planes(c, [&](std::int64_t first) {
      const std::vector<double> x = read("src", first, plane_);
      std::vector<double> g = gradients(first);
      for (std::size_t i = 0; i < g.size(); ++i)
        g[i] = a * (g[i] - of_shift / m - (x[i] - mean) * inverse * of_scale / m);
      write("diff_src", first, g);
    });
  }

  NormProblem problem_;
  std::int64_t plane_ = problem_.shape().ih * problem_.shape().iw;
};

const Maker add_norm{makers(),
                     problem_kind<NormProblem>(),
                     &make_plain<NormProblem, PlainNorm, why_not_nchw>,
                     {"direct"}};

}  // namespace
}  // namespace assay::reference
