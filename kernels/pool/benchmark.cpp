#include "kernels/pool/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/pool/problem.hpp"

namespace assay {

const OperationBenchmark& pool_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "pool",
       .description = "Pooling: the largest element, or the mean, of each window.",
       .directions = list_names<PoolDirection>(),
       .variants = {make_dimension("mode", "result of a window: its largest element, or its mean",
                                   list_names<PoolMode>(), {list_names<PoolMode>().front()}, "",
                                   list_names<PoolMode>().front())},
       .backend = "onednn",
       .problem = "resnet50",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<PoolProblem>(
                 parse_pool(text), parse_name<PoolDirection>(settings.at("direction")),
                 parse_name<PoolMode>(settings.at("mode")), precision(settings.at("precision")));
           },
       .oracle = of_problems(make_pool_oracle)});
  return benchmark;
}

}  // namespace assay
