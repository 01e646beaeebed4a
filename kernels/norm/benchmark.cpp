#include "kernels/norm/benchmark.hpp"

#include "core/program/layer_benchmark.hpp"
#include "kernels/norm/problem.hpp"

namespace assay {

const OperationBenchmark& norm_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "norm",
       .description = "Batch normalization, with the addition and the rectifier that follow it.",
       .directions = list_names<NormDirection>(),
       .variants = {make_dimension(
           "fusion", "operation in the same pass after it: max(y, 0), or max(y + addend, 0)",
           list_names<NormFusion>(), {list_names<NormFusion>().front()}, "",
           list_names<NormFusion>().front())},
       .backend = "onednn",
       .problem = "resnet50",
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<NormProblem>(
                 parse_norm(text), parse_name<NormDirection>(settings.at("direction")),
                 parse_name<NormFusion>(settings.at("fusion")),
                 precision(settings.at("precision")));
           },
       .oracle = of_problems(make_norm_oracle)});
  return benchmark;
}

}  // namespace assay
