#include "kernels/linalg/benchmark.hpp"

#include "kernels/gemm/benchmark.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay {
namespace {

class LinalgBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "linalg"; }

  std::string description() const override {
    return "Dense kernels of PCA, K-means and support vector machines.";
  }

  std::vector<Example> examples() const override {
    std::vector<Example> examples = OperationBenchmark::examples();
    examples.push_back(
        {"assay-linalg --problem syrk:n16384d64,eigh:d64,qr:n16384d64 --backend blas,reference "
         "--max-time 0.1",
         "a Gram matrix, eigenvectors and a triangular factor, by BLAS and LAPACK and by the "
         "reference"});
    return examples;
  }

  std::vector<Dimension> dimensions() const override {
    return {dimension::precision({"fp64", "fp32"}, {"fp64"}),
            dimension::backend("linalg", {"blas"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"syrk:n262144d250"}),
            dimension::cache(),
            dimension::threads(),
            blas_library(),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_linalg(descriptor));
  }

  std::unique_ptr<Problem> make_problem(Settings& settings, int&) const override {
    settle_blas_library(settings);
    return std::make_unique<LinalgProblem>(parse_linalg(settings.at("problem")),
                                           precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return make_linalg_oracle(problem_cast<LinalgProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& linalg_benchmark() {
  static const LinalgBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
