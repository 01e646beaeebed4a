#include "kernels/activation/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/activation/problem.hpp"

namespace assay {

const OperationBenchmark& activation_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "activation",
       .description = "Activation functions, with the bias before them, and their gradients.",
       .directions = list_names<ActivationDirection>(),
       .variants = {make_dimension("function", "function of each element",
                                   list_names<ActivationFunction>(), {"relu"}),
                    make_dimension("bias",
                                   "channel: one number is added to all elements of a channel",
                                   {"channel", "none"}, {"channel"}, "", "channel")},
       .backend = "native",
       .problem = "candle",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ActivationProblem>(
                 parse_activation(text), parse_name<ActivationDirection>(settings.at("direction")),
                 parse_name<ActivationFunction>(settings.at("function")),
                 settings.at("bias") == "channel", precision(settings.at("precision")));
           },
       .oracle = of_problems(make_activation_oracle)});
  return benchmark;
}

}  // namespace assay
