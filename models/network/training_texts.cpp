#include "models/network/training_texts.hpp"

#include <fmt/format.h>

#include "models/network/checked_steps.hpp"
#include "models/network/step_numbers.hpp"

namespace assay {

std::string format_epoch(const EpochResult& result) {
  std::string text = result.has_steps()
                         ? fmt::format("epoch {}: loss {:.4f}, {:.1f} images/s", result.epoch,
                                       result.training_loss, result.images_per_s)
                         : fmt::format("epoch {}: nothing was left to train", result.epoch);
  if (const auto& validation = result.evaluation)
    text += fmt::format("; validation: loss {:.4f}, {} {:.4f}", validation->loss,
                        name(validation->quality), validation->score);
  return text;
}

std::optional<std::string> why_diverged(const LossScale& scale, const std::string& step) {
  if (scale.has_diverged())
    return fmt::format(
        "training diverged: gradients are not finite in {}. Use a smaller learning rate, or a "
        "longer warm-up.",
        step);
  if (!scale.stuck()) return std::nullopt;
  return fmt::format(
      "training diverged: {} steps in a row were skipped, up to {}, whose gradients are not finite "
      "at the loss scale {}. Use a smaller one, or --loss-scale dynamic.",
      scale.state().skipped_in_row, step, scale.scale());
}

std::string describe_divergence(const LossScale& scale, std::int64_t steps) {
  return fmt::format(
      "training diverged: gradients are not finite in step {} (with warm-up), at a loss scale of "
      "{} (their update was skipped). Use a smaller --rate{}.",
      steps, scale.scale(), scale.has_diverged() ? "" : ", or --loss-scale dynamic");
}

std::string describe_reference(const TrainingRun& run) {
  std::string text =
      fmt::format("; {} operations of checked steps in fp64", CheckedSteps::nodes + 1);
  if (run.convergence.epochs == 0)
    return text +
           fmt::format("; throughput only: no training to {}", name(run.trainer.network.quality));
  if (is_files(run.data.data) && run.data.validation.empty())
    return text + "; validated by the images of training";
  if (run.band) text += fmt::format("; losses within the band of {}", run.band->name);
  return text;
}

Execution make_training_execution(Trainer& trainer, const TrainerSettings& settings) {
  Execution ran = make_executed(trainer.executor(), settings);
  const Execution sum = trainer.sum_execution();
  if (!sum.implementation.empty())
    ran.implementation += ", gradients added by " + sum.implementation;
  ran.wire_bits = sum.wire_bits;
  const Learning& learning = settings.learning;
  if (find_loop(learning.rule) == UpdateLoop::momentum) ran.numbers["momentum"] = learning.momentum;
  ran.numbers["weight_decay"] = learning.weight_decay;
  if (needs_trust(learning.rule)) ran.numbers["trust_coefficient"] = learning.coefficient;
  return ran;
}

}  // namespace assay
