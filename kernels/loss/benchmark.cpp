#include "kernels/loss/benchmark.hpp"

#include "core/base/descriptor.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/loss/problem.hpp"

namespace assay {
namespace {

/// "mb16c1000", or "mb16c1000nobias".
std::unique_ptr<LossProblem> make_loss(const std::string& descriptor, bool validation,
                                       Precision precision) {
  constexpr std::string_view without = "nobias";
  const DescriptorComplaint complain("loss", descriptor);
  const bool biased = !descriptor.ends_with(without);
  const auto counts =
      read_counts(descriptor.substr(0, descriptor.size() - (biased ? 0 : without.size())),
                  {"mb", "c"}, {"mb", "c"}, complain);
  product({{"mb", counts.at("mb")}, {"c", counts.at("c")}, {"element size", 8}}, "logits in bytes",
          complain);
  return std::make_unique<LossProblem>(LossShape{counts.at("mb"), counts.at("c"), 0, biased},
                                       validation ? LossPass::validation : LossPass::training,
                                       precision);
}

}  // namespace

const OperationBenchmark& loss_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "loss",
       .description = "Softmax cross-entropy with its gradients, and the bias before it.",
       .directions = {name(LossPass::training), name(LossPass::validation)},
       .backend = "native",
       .problem = "networks",
       .planes = false,
       .make =
           [](const std::string& text, const Settings& settings) {
             return make_loss(text, settings.at("direction") == "validation",
                              precision(settings.at("precision")));
           },
       .oracle = of_problems(make_loss_oracle)});
  return benchmark;
}

}  // namespace assay
