#include "kernels/conv/benchmark.hpp"

#include "kernels/conv/problem.hpp"

namespace assay {
std::string ConvBenchmark::description() const {
  return "convolution, forward and backward, of one layer";
}

std::vector<Dimension> ConvBenchmark::dimensions() const {
  Dimension direction;
  direction.name = "direction";
  direction.help = "pass to time";
  direction.values = conv_direction_names();
  direction.defaults = {"forward"};
  // cuDNN's names, in lower case, are the field's. All are valid where cuDNN is not, too: a suite
  // for GPUs is then unsupported, and no misuse.
  return {direction,
          dimension::precision(precision_names(), {"fp32"}),
          dimension::backend("conv", {"onednn"}),
          dimension::algorithm({"auto", "direct", "winograd", "winograd_nonfused", "implicit_gemm",
                                "implicit_precomp_gemm", "gemm", "fft", "fft_tiling", "algo_0",
                                "algo_1", "algo_3"}),
          dimension::problem({"coral2/winograd"}),
          dimension::cache(),
          dimension::threads(),
          dimension::layout({"any", "nchw", "nhwc"}),
          dimension::device()};
}

std::string ConvBenchmark::canonical(const std::string& descriptor) const {
  return to_descriptor(parse_conv(descriptor));
}

std::unique_ptr<Problem> ConvBenchmark::problem(const Settings& settings) const {
  return std::make_unique<ConvProblem>(parse_conv(settings.at("problem")),
                                       conv_direction(settings.at("direction")),
                                       precision(settings.at("precision")));
}

std::unique_ptr<Oracle> ConvBenchmark::oracle(const Problem& problem) const {
  return conv_oracle(problem_cast<ConvProblem>(problem));
}

}  // namespace assay
