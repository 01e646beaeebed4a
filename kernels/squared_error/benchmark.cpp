#include "kernels/squared_error/benchmark.hpp"

#include "core/base/descriptor.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/squared_error/problem.hpp"

namespace assay {
namespace {

std::unique_ptr<SquaredErrorProblem> make_squared_error(const std::string& descriptor,
                                                        bool validation, Precision precision) {
  const DescriptorComplaint complain("squared-error", descriptor);
  const auto counts = read_counts(descriptor, {"mb", "f"}, {"mb", "f"}, complain);
  return std::make_unique<SquaredErrorProblem>(
      SquaredErrorShape{counts.at("mb"), counts.at("f")},
      validation ? SquaredErrorPass::validation : SquaredErrorPass::training, precision);
}

}  // namespace

const OperationBenchmark& squared_error_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "squared-error",
       .description = "The mean squared error of outputs, its gradients, and their correlation.",
       .kind = SquaredErrorProblem::kind_name,
       .directions = {name(SquaredErrorPass::training), name(SquaredErrorPass::validation)},
       .backend = "native",
       .problem = "candle",
       .planes = false,
       .make =
           [](const std::string& text, const Settings& settings) {
             return make_squared_error(text, settings.at("direction") == "validation",
                                       precision(settings.at("precision")));
           },
       .oracle = of_problems(make_squared_error_oracle)});
  return benchmark;
}

}  // namespace assay
