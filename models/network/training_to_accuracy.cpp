#include "models/network/training_to_accuracy.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/measure/rank_failure.hpp"
#include "models/network/training_oracle.hpp"

namespace assay {

Convergence train_to_accuracy(const TrainingRun& run, const TrainingParts& parts, Plugins& plugins,
                              Communicator& ranks, const std::function<std::int64_t()>& count_bad,
                              Verification& found) {
  auto evaluator = Evaluator::make(parts.trainer, plugins, ranks);
  if (const auto* const refusal = std::get_if<Unsupported>(&evaluator))
    throw CaseError("nothing validates the network: " + refusal->reason);
  ConvergenceSettings settings = run.convergence;
  settings.step_oracle = parts.oracle;
  std::optional<TrainingOracle> oracle;
  if (run.claims) {
    settings.claims = *run.claims;
    throw_on_all(ranks, [&] {
      oracle.emplace(*run.claims, run.definition.parameters, run.claimed_seed, ranks);
    });
    settings.oracle = &*oracle;
  }
  if (is_files(run.data.data)) settings.after_epoch = [&] { count_bad(); };
  Convergence made;
  try {
    made = train(parts.trainer, *std::get<std::unique_ptr<Evaluator>>(evaluator), parts.training,
                 parts.validation, ranks, settings);
  } catch (const Diverged& why) {  // no fault of the machine: a wrong result
    found.passed = false;
    found.reason = why.what();
    return {};
  }
  found.checked += made.found.checked;
  found.outputs = found.checked;
  found.wrong_elements += made.found.wrong_elements;
  const double accuracy = made.epochs.empty() ? 0 : made.epochs.back().evaluation->accuracy;
  found.passed = made.found.passed && (made.reached || run.keep_unreached);
  if (!made.found.passed)
    found.reason = made.found.reason;
  else if (run.band && !(found.reason = outside(*run.band, made.epochs)).empty())
    found.passed = false;
  else if (!found.passed) {
    found.target_missed = true;
    found.reason =
        fmt::format("validation reached an accuracy of {:.4f} in {} epochs, not {:g} (--target)",
                    accuracy, run.convergence.epochs, run.convergence.target);
  }
  return made;
}

}  // namespace assay
