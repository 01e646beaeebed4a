#include "kernels/conv/benchmark.hpp"

#include "kernels/conv/problem.hpp"

namespace assay {
namespace {

class ConvBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "conv"; }

  std::string description() const override {
    return "Convolution of one layer, forward and backward.";
  }

  std::vector<Dimension> dimensions() const override {
    // cuDNN's names in lower case are the names that the field uses. They are valid without cuDNN,
    // too: a suite for GPUs is then unsupported, not a usage error.
    return {
        make_dimension("direction", "pass to time", list_names<ConvDirection>(), {"forward"}),
        dimension::precision(list_precision_names(), {"fp32"}),
        dimension::backend("conv", {"onednn"}),
        dimension::algorithm({"auto", "direct", "winograd", "winograd_nonfused", "implicit_gemm",
                              "implicit_precomp_gemm", "gemm", "fft", "fft_tiling", "algo_0",
                              "algo_1", "algo_3", "graph", "graph_winograd", "graph_fft"}),
        dimension::problem({"coral2/winograd"}),
        dimension::cache(),
        dimension::threads(),
        dimension::layout({"any", "nchw", "nhwc", plain_weights_layout}),
        dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_conv(descriptor));
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    return std::make_unique<ConvProblem>(parse_conv(settings.at("problem")),
                                         parse_name<ConvDirection>(settings.at("direction")),
                                         precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_conv_oracle(problem_cast<ConvProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& conv_benchmark() {
  static const ConvBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
