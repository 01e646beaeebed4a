#include "kernels/norm/benchmark.hpp"

#include "kernels/norm/problem.hpp"

namespace assay {
namespace {

class NormBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "norm"; }

  std::string description() const override {
    return "Batch normalization, with the addition and the rectifier that follow it.";
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>&directions = norm_direction_names(),
          &fusions = norm_fusion_names();
    return {
        make_dimension("direction", "pass to time", directions, {directions.front()}),
        make_dimension("fusion", "what follows in the same pass: max(y, 0), or max(y + addend, 0)",
                       fusions, {fusions.front()}, "", fusions.front()),
        dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
        dimension::backend("norm", {"onednn"}),
        dimension::algorithm({"auto"}),
        dimension::problem({"resnet50"}),
        dimension::cache(),
        dimension::threads(),
        dimension::layout({"any", "nchw", "nhwc"}),
        dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_norm(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<NormProblem>(
        parse_norm(settings.at("problem")), norm_direction(settings.at("direction")),
        norm_fusion(settings.at("fusion")), precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return norm_oracle(problem_cast<NormProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& norm_benchmark() {
  static const NormBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
