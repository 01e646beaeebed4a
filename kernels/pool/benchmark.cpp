#include "kernels/pool/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/pool/problem.hpp"

namespace assay {

const OperationBenchmark& pool_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "pool",
       .description = "Pooling: the largest element, or the mean, of each window.",
       .directions = pool_direction_names(),
       .variants = {make_dimension("mode", "result of a window: its largest element, or its mean",
                                   pool_mode_names(), {pool_mode_names().front()}, "",
                                   pool_mode_names().front())},
       .backend = "onednn",
       .problem = "resnet50",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<PoolProblem>(
                 parse_pool(text), pool_direction(settings.at("direction")),
                 pool_mode(settings.at("mode")), precision(settings.at("precision")));
           },
       .oracle = of_problems(pool_oracle)});
  return benchmark;
}

}  // namespace assay
