#include "kernels/gemm/benchmark.hpp"

#include "kernels/gemm/problem.hpp"

namespace assay {
namespace {

class GemmBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "gemm"; }

  std::string description() const override { return "Matrix multiplication, as in BLAS."; }

  std::vector<Dimension> dimensions() const override {
    return {dimension::precision(list_precision_names(), {"fp32"}),
            dimension::backend("gemm", {"onednn"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"deepbench-device"}),
            dimension::cache(),
            dimension::threads(),
            blas_library(),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_gemm(descriptor));
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    settle_blas_library(settings);
    return std::make_unique<GemmProblem>(parse_gemm(settings.at("problem")),
                                         precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_gemm_oracle(problem_cast<GemmProblem>(problem));
  }
};

}  // namespace

Dimension blas_library() {
  Dimension library = dimension::of_backend(make_dimension(
      "blas",
      "CBLAS library that the backend blas opens, as a file name or a path (libopenblas.so.0); "
      "auto: the first known one that opens",
      {}, {"auto"}, "", "auto"));
  library.traits.one_per_process = true;
  library.traits.file = true;
  return library;
}

void settle_blas_library(Settings& settings) {
  if (settings.at("backend") != "blas") settings["blas"] = "auto";
}

const OperationBenchmark& gemm_benchmark() {
  static const GemmBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
