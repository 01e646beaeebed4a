#include "kernels/norm/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/norm/problem.hpp"

namespace assay {

const OperationBenchmark& norm_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "norm",
       .description = "Batch normalization, with the addition and the rectifier that follow it.",
       .directions = norm_direction_names(),
       .variants = {make_dimension(
           "fusion", "operation in the same pass after it: max(y, 0), or max(y + addend, 0)",
           norm_fusion_names(), {norm_fusion_names().front()}, "", norm_fusion_names().front())},
       .backend = "onednn",
       .problem = "resnet50",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<NormProblem>(
                 parse_norm(text), norm_direction(settings.at("direction")),
                 norm_fusion(settings.at("fusion")), precision(settings.at("precision")));
           },
       .oracle = of_problems(norm_oracle)});
  return benchmark;
}

}  // namespace assay
