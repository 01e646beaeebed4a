#include "kernels/convert/benchmark.hpp"

#include "core/base/descriptor.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/convert/problem.hpp"

namespace assay {
namespace {

std::int64_t count_converted_elements(const std::string& descriptor) {
  const DescriptorComplaint complain("convert", descriptor);
  const std::int64_t n = read_counts(descriptor, {"n"}, {"n"}, complain).at("n");
  product({{"n", n}, {"element size", 4}}, "dst in bytes", complain);
  return n;
}

}  // namespace

const OperationBenchmark& convert_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "convert",
       .description = "16-bit numbers in fp32, as of gradients before they are added.",
       .backend = "reference",
       .problem = "networks",
       .precision = "bf16_fp32",
       .precisions = {"bf16_fp32", "fp16_fp32"},
       .planes = false,
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<ConvertProblem>(count_converted_elements(text),
                                                     precision(settings.at("precision")));
           },
       .oracle = of_problems(convert_oracle)});
  return benchmark;
}

}  // namespace assay
