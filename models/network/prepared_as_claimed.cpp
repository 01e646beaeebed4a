#include "models/network/prepared_as_claimed.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay {
namespace {

/// Compares one setting after the other, as texts.
class ClaimComparison {
 public:
  explicit ClaimComparison(const Settings& claims) : claims_(claims) {}

  void same(const char* parameter, const std::string& prepared) const {
    expect(parameter, prepared, claims_.at(parameter));
  }
  void same(const char* parameter, std::int64_t prepared) const {
    same(parameter, fmt::format("{}", prepared));
  }
  void same(const char* parameter, double prepared) const {
    if (const double claimed = std::stod(claims_.at(parameter)); prepared != claimed)
      expect(parameter, fmt::format("{}", prepared), fmt::format("{}", claimed));
  }
  /// A parameter that names `special`, or not.
  void same(const char* parameter, const char* special, bool prepared) const {
    if (prepared != (claims_.at(parameter) == special))
      expect(parameter, prepared ? special : "another", claims_.at(parameter));
  }
  static void expect(const char* what, const std::string& prepared, const std::string& claimed) {
    if (prepared != claimed)
      throw WrongResult(fmt::format("the case was prepared with {} {}, but its parameters say {}",
                                    what, prepared, claimed));
  }

 private:
  const Settings& claims_;
};

}  // namespace

void expect_network(const TrainerSettings& trainer, const Settings& claims) {
  const ClaimComparison with(claims);
  with.same("problem", trainer.network.descriptor);
  with.same("batch", trainer.batch);
  with.same("accumulate", trainer.accumulate);
  with.same("lag", trainer.lag);
  with.same("control", !trainer.control        ? "none"
                       : *trainer.control == 0 ? "flat"
                                               : fmt::format("tree:{}", *trainer.control));
  const bool emulates = claims.at("emulate") != "none";
  with.same(emulates ? "emulate" : "precision", std::string(name(trainer.precision)));
  with.same("emulate", "none", !trainer.executor.wide_products);
  with.same("optimizer", name(trainer.learning.rule));
  ClaimComparison::expect("momentum", fmt::format("{}", trainer.learning.momentum),
                          claims.at("optimizer").ends_with("rmsprop") ? "0" : "0.9");
  with.same("weight_decay", trainer.learning.weight_decay);
  ClaimComparison::expect("trust coefficient", fmt::format("{}", trainer.learning.coefficient),
                          "0.001");
  with.same("beta1", trainer.learning.beta1);
  with.same("beta2", trainer.learning.beta2);
  with.same("alpha", trainer.learning.alpha);
  with.same("epsilon", trainer.learning.epsilon);
  with.same("smoothing", trainer.learning.smoothing);
  with.same("weight_gradients", "16bit", trainer.learning.narrow_gradients);
  with.same("loss_scale", to_text(trainer.loss_scale));
  with.same("backend", "auto", trainer.executor.measured);
  if (!trainer.executor.measured) with.same("backend", trainer.executor.backends.at(0));
  with.same("threads", std::int64_t{trainer.executor.threads});
  with.same("device", trainer.executor.device);
}

void expect_layers(const Network& network, const Settings& claims,
                   const NetworkDefinition& definition) {
  const std::string fault = find_fault_of_layers(
      make_training_graph(network, 1, Precision::fp32, {}), claims.at("problem"), definition);
  if (!fault.empty()) throw WrongResult(fault);
}

void expect_training(const TrainingRun& run, const Settings& claims) {
  expect_network(run.trainer, claims);
  const ClaimComparison with(claims);
  with.same("parallel", to_text(run.parallel));
  with.same("steps", std::int64_t{run.steps});
  with.same("data", run.data.data);
  with.same("validation", run.data.validation.empty() ? "none" : run.data.validation);
  with.same("augment", augment_names[run.data.augment]);
  with.same("label_base", run.data.label_base);
  with.same("max_bad_samples", run.data.max_bad_samples);
  with.same("page_cache", "cold", run.cold);
  with.same("epochs", run.convergence.epochs);
  with.same("target", run.convergence.target);
  with.same("validate_every", run.convergence.validate_every);
  with.same("warmup", run.convergence.warmup_epochs);
  with.same("schedule", to_text(run.convergence.decay));
  with.same("checkpoint",
            run.convergence.checkpoint.empty() ? "none" : run.convergence.checkpoint.string());
  with.same("restart", "yes", run.convergence.restart);
  with.same("unreached", "kept", run.keep_unreached);
}

}  // namespace assay
