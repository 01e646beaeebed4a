#include "kernels/activation/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/activation/problem.hpp"

namespace assay {

const OperationBenchmark& activation_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "activation",
       .description = "Activation functions, with the bias before them, and their gradients.",
       .directions = activation_direction_names(),
       .variants = {make_dimension("function", "function of each element",
                                   activation_function_names(), {"relu"}),
                    make_dimension("bias",
                                   "channel: one number is added to all elements of a channel",
                                   {"channel", "none"}, {"channel"}, "", "channel")},
       .backend = "native",
       .problem = "candle",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ActivationProblem>(
                 parse_activation(text), activation_direction(settings.at("direction")),
                 activation_function(settings.at("function")), settings.at("bias") == "channel",
                 precision(settings.at("precision")));
           },
       .oracle = of_problems(activation_oracle)});
  return benchmark;
}

}  // namespace assay
