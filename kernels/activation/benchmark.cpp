#include "kernels/activation/benchmark.hpp"

#include "kernels/activation/problem.hpp"

namespace assay {
namespace {

class ActivationBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "activation"; }

  std::string description() const override {
    return "Activation functions, with the bias before them, and their gradients.";
  }

  std::vector<Dimension> dimensions() const override {
    const std::vector<std::string>&directions = activation_direction_names(),
          &functions = activation_function_names();
    return {make_dimension("direction", "pass to time", directions, {directions.front()}),
            make_dimension("function", "function of each element", functions, {"relu"}),
            make_dimension("bias", "channel: one number is added to all elements of a channel",
                           {"channel", "none"}, {"channel"}, "", "channel"),
            dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
            dimension::backend("activation", {"native"}),
            dimension::algorithm({"auto"}),
            dimension::problem({"candle"}),
            dimension::cache(),
            dimension::threads(),
            dimension::layout({"any", "nchw", "nhwc"}),
            dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_activation(descriptor));
  }

  std::unique_ptr<Problem> make_problem(const Settings& settings) const override {
    return std::make_unique<ActivationProblem>(
        parse_activation(settings.at("problem")), activation_direction(settings.at("direction")),
        activation_function(settings.at("function")), settings.at("bias") == "channel",
        precision(settings.at("precision")));
  }

  std::unique_ptr<Oracle> oracle(const Problem& problem) const override {
    return activation_oracle(problem_cast<ActivationProblem>(problem));
  }
};

}  // namespace

const OperationBenchmark& activation_benchmark() {
  static const ActivationBenchmark benchmark;
  return benchmark;
}

}  // namespace assay
