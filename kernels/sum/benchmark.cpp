#include "kernels/sum/benchmark.hpp"

#include "core/base/descriptor.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/sum/problem.hpp"

namespace assay {
namespace {

/// "n1000", or "in_place_n1000".
std::unique_ptr<SumProblem> make_sum(const std::string& descriptor, Precision precision) {
  constexpr std::string_view in_place = "in_place_";
  const DescriptorComplaint complain("sum", descriptor);
  const bool replaces = descriptor.starts_with(in_place);
  const std::int64_t n =
      read_counts(descriptor.substr(replaces ? in_place.size() : 0), {"n"}, {"n"}, complain)
          .at("n");
  product({{"n", n}, {"element size", 8}}, "a in bytes", complain);
  return std::make_unique<SumProblem>(n, precision, replaces);
}

}  // namespace

const OperationBenchmark& sum_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "sum",
       .description = "The sum of two tensors, as of gradients of several readers or passes.",
       .backend = "native",
       .problem = "networks",
       .planes = false,
       .make =
           [](const std::string& text, const Settings& settings) {
             return make_sum(text, precision(settings.at("precision")));
           },
       .oracle = of_problems(make_sum_oracle)});
  return benchmark;
}

}  // namespace assay
