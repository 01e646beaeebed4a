#include "kernels/dropout/benchmark.hpp"

#include "kernels/dropout/problem.hpp"

namespace assay {
namespace {

class DropoutBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "dropout"; }

  std::string description() const override {
    return "Dropout, with a mask that is a function of layer and step.";
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>& directions = dropout_direction_names();
    return {make_dimension("direction", "pass to time", directions, {directions.front()}),
            dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("dropout", {"native"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"candle"}),
            dimension::cache(),
            dimension::threads(),
            dimension::layout({"any", "nchw", "nhwc"}),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_dropout(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<DropoutProblem>(parse_dropout(settings.at("problem")),
                                            dropout_direction(settings.at("direction")),
                                            precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return dropout_oracle(problem_cast<DropoutProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& dropout_benchmark() {
  static const DropoutBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
