#include "kernels/pixel_loss/benchmark.hpp"

#include "core/base/descriptor.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/pixel_loss/problem.hpp"

namespace assay {
namespace {

std::unique_ptr<PixelLossProblem> make_pixel_loss(const std::string& descriptor, bool validation,
                                                  Precision precision) {
  const DescriptorComplaint complain("pixel-loss", descriptor);
  std::map<std::string, std::int64_t> counts =
      read_counts(descriptor, {"mb", "c", "ih", "iw"}, {"mb", "c", "ih"}, complain);
  const std::int64_t iw = counts.emplace("iw", counts.at("ih")).first->second;
  return std::make_unique<PixelLossProblem>(
      PixelLossShape{counts.at("mb"), counts.at("c"), counts.at("ih"), iw},
      validation ? PixelLossPass::validation : PixelLossPass::training, precision);
}

}  // namespace

const OperationBenchmark& pixel_loss_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "pixel-loss",
       .description = "Softmax cross-entropy of each pixel of images, weighted by class.",
       .kind = PixelLossProblem::kind_name,
       .directions = {name(PixelLossPass::training), name(PixelLossPass::validation)},
       .backend = "native",
       .problem = "deepcam",
       .make =
           [](const std::string& text, const Settings& settings) {
             return make_pixel_loss(text, settings.at("direction") == "validation",
                                    precision(settings.at("precision")));
           },
       .oracle = of_problems(make_pixel_loss_oracle)});
  return benchmark;
}

}  // namespace assay
