#include "kernels/dropout/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/dropout/problem.hpp"

namespace assay {

const OperationBenchmark& dropout_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "dropout",
       .description = "Dropout, with a mask that is a function of layer and step.",
       .directions = list_names<DropoutDirection>(),
       .backend = "native",
       .problem = "candle",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<DropoutProblem>(
                 parse_dropout(text), parse_name<DropoutDirection>(settings.at("direction")),
                 precision(settings.at("precision")));
           },
       .oracle = of_problems(make_dropout_oracle)});
  return benchmark;
}

}  // namespace assay
