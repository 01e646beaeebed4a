#pragma once
// Parameters of a case as texts, and the trainer that they describe, for tests of both together.

#include <functional>
#include <string>

#include "core/measure/case.hpp"
#include "models/network/trainer.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay::network_test {

/// Enough images for the variances of the last stage, whose planes are one pixel: smaller ones
/// amplify rounding errors. The learning rate of 16 images is 0.01.
inline Settings small_claims(const Settings& others = {}) {
  Settings claims{
      {"problem", "d18w4s32c5"}, {"batch", "16"},  {"accumulate", "1"},   {"ranks", "1"},
      {"optimizer", "sgd"},      {"rate", "0.16"}, {"scaling", "linear"}, {"lag", "0"},
      {"smoothing", "0"},        {"wire", "none"}};
  for (const auto& [name, value] : others) claims[name] = value;
  return claims;
}

/// The settings of a trainer that does what `claims` say.
inline TrainerSettings claimed_settings(const Settings& claims, const std::string& backend,
                                        Precision precision) {
  TrainerSettings settings = small_settings(backend);
  settings.network = make_resnet(parse_resnet(claims.at("problem")));
  settings.batch = std::stoll(claims.at("batch"));
  settings.accumulate = std::stoll(claims.at("accumulate"));
  settings.lag = std::stoll(claims.at("lag"));
  settings.precision = precision;
  settings.learning.rule = parse_name<UpdateRule>(claims.at("optimizer"));
  if (claims.at("optimizer").ends_with("rmsprop")) settings.learning.momentum = 0;
  settings.learning.smoothing = std::stod(claims.at("smoothing"));
  settings.executor.threads = 1;
  settings.seed = 3;
  return settings;
}

/// A trainer that does something else than claims say.
struct Falsification {
  const char* what;
  Settings claims;  ///< in addition to small_claims()
  std::function<void(TrainerSettings&, double& rate)> change;
};

inline std::vector<Falsification> falsified_trainers() {
  const auto of = [](const char* what, const Settings& claims,
                     std::function<void(TrainerSettings&, double&)> change) {
    return Falsification{what, claims, std::move(change)};
  };
  return {
      of("no momentum", {}, [](TrainerSettings& s, double&) { s.learning.momentum = 0; }),
      of("no decay", {}, [](TrainerSettings& s, double&) { s.learning.weight_decay = 0; }),
      of("no decay", {{"optimizer", "lars"}},
         [](TrainerSettings& s, double&) { s.learning.weight_decay = 0; }),
      of("another trust", {{"optimizer", "lars"}},
         [](TrainerSettings& s, double&) { s.learning.coefficient = 2e-3; }),
      of("another trust", {{"optimizer", "larc"}},
         [](TrainerSettings& s, double&) { s.learning.coefficient = 2e-3; }),
      of("another alpha", {{"optimizer", "rmsprop"}},
         [](TrainerSettings& s, double&) { s.learning.alpha = 0.9; }),
      of("no smoothing", {{"smoothing", "0.1"}},
         [](TrainerSettings& s, double&) { s.learning.smoothing = 0; }),
      of("one pass", {{"accumulate", "3"}}, [](TrainerSettings& s, double&) { s.accumulate = 1; }),
      of("another rate", {}, [](TrainerSettings&, double& rate) { rate *= 1.1; }),
      of("a lag", {}, [](TrainerSettings& s, double&) { s.lag = 1; }),
      of("no lag", {{"lag", "1"}}, [](TrainerSettings& s, double&) { s.lag = 0; }),
      of("sgd", {{"optimizer", "lars"}},
         [](TrainerSettings& s, double&) { s.learning.rule = UpdateRule::sgd; }),
      of("larc", {{"optimizer", "lars"}},
         [](TrainerSettings& s, double&) { s.learning.rule = UpdateRule::larc; }),
      of("sgd", {{"optimizer", "larc"}},
         [](TrainerSettings& s, double&) { s.learning.rule = UpdateRule::sgd; })};
}

}  // namespace assay::network_test
