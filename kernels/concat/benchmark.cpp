#include "kernels/concat/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/concat/problem.hpp"

namespace assay {

const OperationBenchmark& concat_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "concat",
       .description =
           "Concatenation of activations along their channels, and its backward pass, a split.",
       .directions = list_names<ConcatDirection>(),
       .backend = "onednn",
       .problem = "deeplab",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ConcatProblem>(
                 parse_concat(text), parse_name<ConcatDirection>(settings.at("direction")),
                 precision(settings.at("precision")));
           },
       .oracle = of_problems(make_concat_oracle)});
  return benchmark;
}

}  // namespace assay
