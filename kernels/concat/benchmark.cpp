#include "kernels/concat/benchmark.hpp"

#include "kernels/concat/problem.hpp"

namespace assay {
namespace {

class ConcatBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "concat"; }

  std::string description() const override {
    return "Concatenation of activations along their channels, and its backward pass, a split.";
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>& directions = concat_direction_names();
    return {make_dimension("direction", "pass to time", directions, {directions.front()}),
            dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("concat", {"onednn"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"deeplab"}),
            dimension::cache(),
            dimension::threads(),
            dimension::layout({"any", "nchw", "nhwc"}),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_concat(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<ConcatProblem>(parse_concat(settings.at("problem")),
                                           concat_direction(settings.at("direction")),
                                           precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return concat_oracle(problem_cast<ConcatProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& concat_benchmark() {
  static const ConcatBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
