#include "models/network/training_to_accuracy.hpp"

#include <fmt/format.h>

#include <optional>

#include "core/measure/rank_failure.hpp"
#include "models/network/training_oracle.hpp"

namespace assay {

namespace {

void judge_convergence(const TrainingRun& run, const Convergence& training,
                       Verification& verification) {
  verification.checked += training.verification.checked;
  verification.outputs = verification.checked;
  verification.wrong_elements += training.verification.wrong_elements;
  const Quality quality = run.trainer.network.quality;
  const double score = training.epochs.empty() ? 0 : training.epochs.back().evaluation->score;
  verification.passed = training.verification.passed && (training.reached || run.keep_unreached);
  if (!training.verification.passed)
    verification.reason = training.verification.reason;
  else if (run.band && !(verification.reason = outside(*run.band, training.epochs)).empty())
    verification.passed = false;
  else if (!verification.passed) {
    verification.target_missed = true;
    verification.reason =
        fmt::format("validation reached {} {} of {:.4f} in {} epochs, not {:g} (--target)",
                    quality == Quality::correlation ? "a" : "an", name(quality), score,
                    run.convergence.epochs, run.convergence.target);
  }
}

}  // namespace

Convergence train_to_accuracy(const TrainingRun& run, const TrainingParts& parts, Plugins& plugins,
                              Communicator& ranks, const std::function<std::int64_t()>& count_bad,
                              Verification& verification) {
  auto evaluator = Evaluator::make(parts.trainer, plugins, ranks);
  if (const auto* const refusal = std::get_if<Unsupported>(&evaluator))
    throw CaseError("nothing validates the network: " + refusal->reason);
  ConvergenceSettings settings = run.convergence;
  settings.step_oracle = parts.oracle;
  std::optional<TrainingOracle> oracle;
  if (run.claims) {
    settings.claims = *run.claims;
    throw_on_all(ranks,
                 [&] { oracle.emplace(*run.claims, run.definition, run.claimed_seed, ranks); });
    settings.oracle = &*oracle;
  }
  if (is_files(run.data.data)) settings.after_epoch = [&] { count_bad(); };
  return judge_training(
      run,
      [&] {
        return train(parts.trainer, *std::get<std::unique_ptr<Evaluator>>(evaluator),
                     parts.training, parts.validation, ranks, settings);
      },
      verification);
}

Convergence judge_training(const TrainingRun& run, const std::function<Convergence()>& train,
                           Verification& verification) {
  Convergence training;
  try {
    training = train();
  } catch (const Divergence& why) {  // not a failure of the machine, but a wrong result
    verification.passed = false;
    verification.reason = why.what();
    return {};
  }
  judge_convergence(run, training, verification);
  return training;
}

}  // namespace assay
